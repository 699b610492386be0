import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';

const shared = {
  globalSetup: ['test-support/shared-services.ts'],
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 120_000,
} satisfies TestProjectInlineConfiguration['test'];

/** Whether the command line asks for a project by its name. */
const isChosen = (project: string): boolean =>
  new RegExp(`--project[= ]${project}\\b`).test(process.argv.join(' '));
// For the services that suites share too, which do not see the environment of a project.
if (isChosen('server')) process.env.GENENV_TEST_TEMPORAL = 'postgresql';

export default defineConfig({
  test: {
    // Two cores: a third process would only slow down the tests that start real servers.
    maxWorkers: 2,
    reporters: ['default'],
    projects: [
      {
        test: {
          ...shared,
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.{bucket,kubernetes,launchers,long,prometheus,server,trackers,vllm}.test.ts'],
        },
      },
      // Faults and waits of minutes: `npm run test:long`, and continuous integration.
      { test: { ...shared, name: 'long', include: ['test/**/*.long.test.ts'] } },
      // Against a real vLLM, for minutes, one server at a time: `npm run test:vllm`.
      ...(isChosen('vllm')
        ? [
            {
              test: {
                ...shared,
                name: 'vllm',
                include: ['test/**/*.vllm.test.ts'],
                globalSetup: [],
                fileParallelism: false,
                testTimeout: 180_000,
              },
            },
          ]
        : []),
      // On a real S3 server, with workers on disks of their own: `npm run test:bucket`.
      ...(isChosen('bucket')
        ? [
            {
              test: {
                ...shared,
                name: 'bucket',
                include: ['test/**/*.bucket.test.ts'],
                globalSetup: [],
                fileParallelism: false,
                testTimeout: 180_000,
              },
            },
          ]
        : []),
      // On a real API server of Kubernetes: `npm run test:kubernetes`.
      ...(isChosen('kubernetes')
        ? [
            {
              test: {
                ...shared,
                name: 'kubernetes',
                include: ['test/**/*.kubernetes.test.ts'],
                globalSetup: [],
                fileParallelism: false,
              },
            },
          ]
        : []),
      // On real schedulers, for minutes, one after the other: `npm run test:launchers`.
      ...(isChosen('launchers')
        ? [
            {
              test: {
                ...shared,
                name: 'launchers',
                include: ['test/**/*.launchers.test.ts'],
                fileParallelism: false,
                testTimeout: 180_000,
              },
            },
          ]
        : []),
      // The packages of W&B, MLflow and Trackio, and a server of MLflow: `npm run test:trackers`.
      ...(isChosen('trackers')
        ? [
            {
              test: {
                ...shared,
                name: 'trackers',
                include: ['test/tracking/*.trackers.test.ts'],
                globalSetup: [],
                fileParallelism: false,
                testTimeout: 300_000,
              },
            },
          ]
        : []),
      // Against a real Prometheus: `npm run test:telemetry`.
      ...(isChosen('telemetry')
        ? [{ test: { ...shared, name: 'telemetry', include: ['test/**/*.prometheus.test.ts'] } }]
        : []),
      // On a Temporal server of the engines `temporal-server` and `postgresql`: `npm run test:server`.
      ...(isChosen('server')
        ? [
            {
              test: {
                ...shared,
                name: 'server',
                include: [
                  'test/server/**/*.server.test.ts',
                  'test/e2e/**/*.test.ts',
                  'test/worker/{deploy,server}.long.test.ts',
                  'test/chaos/selection.long.test.ts',
                ],
                // `npm start` and its own server.
                exclude: ['test/e2e/restart.long.test.ts'],
                testTimeout: 180_000,
                hookTimeout: 300_000,
              },
            },
          ]
        : []),
    ],
  },
});
