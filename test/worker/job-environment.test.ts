import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { createDependencies } from '../../src/worker/dependencies.ts';
import { workerSettings } from '../../src/worker/settings.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { until } from '../../test-support/processes.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

test('a training job that a worker starts has what it needs of the environment, and no secret', async () => {
  const home = await temporaryFolder();
  const python = join(home, 'python');
  writeFileSync(python, '#!/bin/sh\nenv > "$4/part"\nmv "$4/part" "$4/environment"\n', { mode: 0o755 });
  const needed = {
    PATH: process.env.PATH,
    HOME: home,
    CUDA_VISIBLE_DEVICES: '0',
    GENENV_TRAINER_FAULT: 'none',
  };
  const environment = {
    ...needed,
    GENENV_HOME: home,
    GENENV_PAYLOAD_KEYS: 'canary of the payload keys',
    GENENV_POLICY_TOKEN: 'canary of the policy server',
    TEMPORAL_API_KEY: 'canary of Temporal',
    VLLM_API_KEY: 'canary of a model server',
    HF_TOKEN: 'canary of a hub',
    AWS_SECRET_ACCESS_KEY: 'canary of a cloud',
    DATABASE_URL: 'canary of a database',
  };
  const { launcher } = createDependencies(
    { ...workerSettings(environment, undefined), python },
    environment,
    {
      attempt: () => {
        throw new Error('no activity runs');
      },
      keepAlive: (_, wait) => wait(),
      searchAttributes: false,
      onDamage: () => undefined,
    },
  );
  const { trainer } = exampleExperiment();
  await launcher({ ...trainer, launcher: { type: 'process' } }).submit({
    key: 'a'.repeat(64),
    fence: 1,
    folder: home,
  });
  const file = join(home, 'environment');
  await until(() => existsSync(file), 30_000, 'the environment of the job');
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain('canary');
  const inJob = new Map(text.split('\n').map((line) => [line.split('=')[0], line.replace(/^[^=]*=/, '')]));
  expect(Object.fromEntries(inJob)).toMatchObject({
    ...needed,
    PYTHONPATH: join(repository, 'trainer'),
    // No code comes from the folder that the worker was started in.
    PYTHONSAFEPATH: '1',
  });
});
