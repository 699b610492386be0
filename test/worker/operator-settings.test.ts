/** What an activity makes of a list or a key that the operator can mend: a failure that its workflow waits for. */
import type { ApplicationFailure } from '@temporalio/common';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requireServersPermitted } from '../../src/cli/lib/server-permission.ts';
import { toFailure } from '../../src/worker/activity-interceptor.ts';
import { createDependencies } from '../../src/worker/dependencies.ts';
import { workerSettings } from '../../src/worker/settings.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const search = { url: 'http://search.example/?q={query}', apiKeyEnv: null };

async function someWorker() {
  const home = await temporaryFolder();
  const environment = { GENENV_HOME: home, GENENV_POLICY_TOKEN_FILE: join(home, 'token') };
  const dependencies = createDependencies(workerSettings(environment, undefined), environment, {
    attempt: () => {
      throw new Error('no activity runs');
    },
    keepAlive: (_, wait) => wait(),
    searchAttributes: false,
    onDamage: () => undefined,
  });
  return { home, environment, dependencies };
}

/** What Temporal gets of an activity that throws this error. */
async function failureOf(work: () => unknown): Promise<ApplicationFailure> {
  try {
    await work();
  } catch (error) {
    return toFailure(error) as ApplicationFailure;
  }
  throw new Error('nothing was thrown');
}
const outage = (server: string, reason: RegExp): unknown =>
  expect.objectContaining({
    type: 'ModelUnavailable',
    nonRetryable: false,
    details: [{ server, reason: expect.stringMatching(reason) as string, progressed: false }],
  });

test('a list with a typo is an outage of every server that it lists, until it is corrected', async () => {
  const { home, environment, dependencies } = await someWorker();
  const list = join(home, 'endpoints.json');
  writeFileSync(list, '{"addresses": ["http://127.0.0.1:*",]}');
  const serving = { type: 'vllm', baseUrl: 'http://127.0.0.1:9/v1' } as const;
  const [suite] = dependencies.suites.select(['bamboogle_search']);
  const opened = await dependencies.suites.use(
    suite!,
    { toolFormat: 'prompt', search },
    new AbortController().signal,
    (opening) => opening,
  );
  const reason = /endpoints\.json: expected JSON/;
  for (const work of [
    () => dependencies.policyClient(serving, 1_000),
    () => dependencies.chatClient(serving, 1_000),
    () => dependencies.adapterServers(serving),
    () => 'cannotAsk' in opened && opened.cannotAsk,
  ])
    expect(await failureOf(work)).toEqual(outage("the operator's list of endpoints", reason));
  // Who starts a run is told what is wrong, and nothing starts.
  const context = { env: environment, print: () => undefined, warn: () => undefined, terminal: null };
  expect(() => requireServersPermitted([{ serving }], context)).toThrow(
    expect.objectContaining({ name: 'InvalidConfig', message: expect.stringMatching(reason) as string }),
  );

  writeFileSync(list, '{"addresses": ["http://127.0.0.1:*"]}');
  expect(dependencies.policyClient(serving, 1_000)).toBeDefined();
  expect(() => requireServersPermitted([{ serving }], context)).not.toThrow();
});

test('so is the token of the policy server while its file is replaced', async () => {
  const { home, dependencies } = await someWorker();
  const ask = () => dependencies.policyClient({ type: 'embedded' }, 1_000);
  expect(await failureOf(ask)).toEqual(outage('GENENV_POLICY_TOKEN', /cannot be read \(ENOENT\)/));
  writeFileSync(join(home, 'token'), '');
  expect(await failureOf(ask)).toEqual(outage('GENENV_POLICY_TOKEN', /printable ASCII/));
  writeFileSync(join(home, 'token'), 'token');
  expect(ask()).toBeDefined();
});
