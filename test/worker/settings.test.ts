import { expect, test } from 'vitest';
import { workerSettings } from '../../src/worker/settings.ts';

test('what a worker is not told has a default', () => {
  expect(workerSettings({ GENENV_HOME: '/srv/genenv' }, undefined)).toMatchObject({
    store: '/srv/genenv/store',
    runs: '/srv/genenv/runs',
    devices: '/srv/genenv/stack/devices',
    queues: ['workflows', 'llm', 'cpu', 'gpu'],
    maxCachedWorkflows: 50,
    trainingJobs: 1,
    healthPort: undefined,
    version: undefined,
  });
  expect(
    workerSettings(
      {
        GENENV_MAX_CACHED_WORKFLOWS: '0',
        GENENV_RUNS: '/shared/runs',
        TEMPORAL_DEPLOYMENT_NAME: 'genenv',
        TEMPORAL_WORKER_BUILD_ID: 'v1',
      },
      'gpu',
    ),
  ).toMatchObject({
    runs: '/shared/runs',
    queues: ['gpu'],
    maxCachedWorkflows: 0,
    version: { deploymentName: 'genenv', buildId: 'v1' },
  });
});

test.each([
  [
    { GENENV_MAX_CACHED_WORKFLOWS: '-1' },
    'GENENV_MAX_CACHED_WORKFLOWS: got "-1"; expected a whole number from 0 to 100000',
  ],
  [{ GENENV_TRAINING_JOBS: '0' }, 'GENENV_TRAINING_JOBS: got "0"; expected a whole number from 1 to 64'],
  [
    { GENENV_HEALTH_PORT: '70000' },
    'GENENV_HEALTH_PORT: got "70000"; expected a whole number from 0 to 65535',
  ],
  [{ GENENV_ON_SHUTDOWN: 'sleep' }, 'GENENV_ON_SHUTDOWN: got "sleep"; allowed: checkpoint, detach'],
  [
    { TEMPORAL_DEPLOYMENT_NAME: 'genenv' },
    'TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID: got one of them',
  ],
])('%o is refused', (environment, message) => {
  expect(() => workerSettings(environment, undefined)).toThrow(message);
});
