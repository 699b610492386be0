import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { EncryptionCodec } from '../../src/temporal/payload-codec.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { formsOf } from '../../test-support/planted-texts.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv, startGenenv } from '../cli/genenv-process.ts';
import { defined } from '../infra/repository.ts';
import { keysOf, keyText } from '../temporal/some-keys.ts';

/** What the command line writes into Temporal's history, where workers and clients have payload keys. */

const keys = { GENENV_PAYLOAD_KEYS: keyText('a') };
const alphas = { started: 0.41234567893, retuned: 0.41234567894 };
const file = withFields(tinyExperiment(), {
  name: 'canary',
  epochs: 200,
  'difficulty.alpha': alphas.started,
});
/** The first is the summary of the run; the name alone is a search attribute, which stays plain. */
const planted = ['canary: 200 epochs', ...Object.values(alphas).map(String)];
let stack: InstantStack;

beforeAll(async () => {
  stack = await InstantStack.start(parseExperiment(file).world, { environment: keys });
}, 480_000);
afterAll(() => stack[Symbol.asyncDispose](), 60_000);

test('start and retune of the command line are encrypted, with the summary of the run', async () => {
  const id = 'encrypted';
  const path = join(stack.home, 'file.json');
  writeFileSync(path, JSON.stringify(file));
  const environment = { ...keys, GENENV_HOME: stack.home, TEMPORAL_ADDRESS: stack.address };
  const run = startGenenv(['run', path, '--id', id], environment);
  const handle = stack.client.workflow.getHandle(id);
  await until(() => run.out().includes(`Started ${id}`), 60_000, 'the run');
  const { runId } = await handle.describe();
  const first = stack.client.workflow.getHandle(id, runId);
  const paused = await genenv(['pause', id], environment);
  const retuned = await genenv(['retune', id, `difficulty.alpha=${alphas.retuned}`], environment);
  const { events } = await first.fetchHistory();
  const history = JSON.stringify(events);
  await genenv(['cancel', id], environment);
  await run.ended;

  const isInHistory = (text: string): boolean => formsOf(text).some((form) => history.includes(form));
  expect(planted.filter(isInHistory)).toEqual([]);
  expect([paused.code, retuned.code]).toEqual([0, 0]);
  // The search looked at the right payloads: with the keys they are what was sent.
  const started = defined(events?.[0]?.workflowExecutionStartedEventAttributes);
  const updates = (events ?? []).flatMap(
    ({ workflowExecutionUpdateAcceptedEventAttributes: accepted }) => accepted?.acceptedRequest?.input ?? [],
  );
  expect(await decrypted(started.input?.payloads)).toEqual([file]);
  expect(updates.map(({ name }) => name)).toEqual(['pause', 'retune']);
  expect(await decrypted(updates[1]?.args?.payloads)).toEqual([{ 'difficulty.alpha': alphas.retuned }]);
}, 240_000);

/** What encrypted payloads hold. */
async function decrypted(payloads: Payload[] | null | undefined): Promise<unknown[]> {
  const plain = await new EncryptionCodec(keysOf(keys.GENENV_PAYLOAD_KEYS)).decode(payloads ?? []);
  return plain.map((payload) => defaultPayloadConverter.fromPayload(payload));
}
