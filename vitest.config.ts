import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';

const shared = {
  globalSetup: ['test-support/shared-services.ts'],
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 120_000,
} satisfies TestProjectInlineConfiguration['test'];

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
          exclude: ['test/**/*.long.test.ts', 'test/**/*.vllm.test.ts'],
        },
      },
      // Faults and waits of minutes: `npm run test:long`, and continuous integration.
      { test: { ...shared, name: 'long', include: ['test/**/*.long.test.ts'] } },
      // Against a real vLLM, for minutes, one server at a time: `npm run test:vllm`.
      ...(/--project[= ]vllm\b/.test(process.argv.join(' '))
        ? [
            {
              test: {
                ...shared,
                name: 'vllm',
                include: ['test/**/*.vllm.test.ts'],
                globalSetup: [],
                fileParallelism: false,
              },
            },
          ]
        : []),
    ],
  },
});
