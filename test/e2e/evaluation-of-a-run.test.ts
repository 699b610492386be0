import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';
import type { EvaluationResults } from '../../src/types/evaluation-types.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from '../cli/genenv-process.ts';

/** The agents of real runs on benchmarks: real weights behind the real policy server. */

let stack: LiveStack;
const evaluate = (...args: string[]) =>
  genenv(['evaluate', ...args, '--address', stack.address], {
    GENENV_HOME: stack.home,
    TEMPORAL_NAMESPACE: stack.namespace,
  });
const results = (id: string) =>
  JSON.parse(readFileSync(join(stack.home, 'evaluations', id, 'results.json'), 'utf8')) as EvaluationResults;

beforeAll(async () => {
  stack = await LiveStack.shared();
  await stack.policyReady();
  await stack.startWorker();
}, 300_000);
afterAll(() => stack[Symbol.asyncDispose](), 60_000);

test('an agent that reads words is asked on the policy server that has its checkpoint, by either endpoint', async () => {
  const path = join(stack.home, 'models', 'base');
  mkdirSync(dirname(path), { recursive: true });
  await promisify(execFile)(pythonPath(), [join(repository, 'test-support/byte_model.py'), path]);
  const model = { type: 'pretrained', path };
  const file = tinyExperiment({
    name: 'words',
    epochs: 1,
    world: { type: 'language', baseTasks: 4, heldOutPerCell: 1 },
    environment: {
      model,
      sampling: { maxTokens: 8 },
      promptsPerEpoch: 1,
      variationsPerPrompt: 2,
      training: { recordsPerStep: 2 },
    },
    agent: { model, sampling: { maxTokens: 8 }, rolloutsPerTask: 2, training: { stepsPerEpoch: 1 } },
    durability: { shards: 1, promptsPerRequest: 4, heartbeatSeconds: 60, requestTimeoutSeconds: 50 },
  });
  await (await stack.startRun('words', file)).result();
  const { agent } = stack.entries('words').at(-1)!.outputs.state;

  const chat = await evaluate(
    '--policy',
    'words@1',
    '--suite',
    'bamboogle_closedbook,travelplanner_train_soleplanning',
    '--limit',
    '3',
    '--max-tokens',
    '8',
    '--id',
    'by-chat',
  );
  expect(chat, chat.err).toMatchObject({ code: 0 });
  const { policy, suites } = results('by-chat');
  expect(policy).toMatchObject({
    type: 'run',
    run: 'words',
    epoch: 1,
    version: { name: agent.name, checkpoint: agent.checkpoint, trainer_state: null },
  });
  // What it says is noise, and is judged; sandboxes of trips are longer than its context.
  expect(suites).toMatchObject([
    { name: 'bamboogle_closedbook', questions: 3, correct: 0, tooLong: 0 },
    { name: 'travelplanner_train_soleplanning', questions: 3, correct: 0, tooLong: 3, tokens: 0 },
  ]);
  expect(chat.out).toContain(
    'travelplanner_train_soleplanning: 3 of 3 questions, with an answer of the most tokens, were too long',
  );
  const completions = await evaluate(
    '--policy',
    'words',
    '--suite',
    'bamboogle_closedbook',
    '--limit',
    '3',
    '--max-tokens',
    '8',
    '--api',
    'completions',
    '--id',
    'by-completions',
  );
  expect(completions, completions.err).toMatchObject({ code: 0 });
  expect(results('by-completions')).toMatchObject({
    policy: { version: { name: agent.name } },
    suites: [{ questions: 3, correct: 0, tooLong: 0 }],
  });
}, 240_000);

test('an agent made from scratch, which knows the characters of its world alone, is refused by name', async () => {
  await (await stack.startRun('scratch', tinyExperiment({ epochs: 1 }))).result();
  expect(await evaluate('--policy', 'scratch', '--suite', 'bamboogle_closedbook')).toMatchObject({
    code: 2,
    err: expect.stringContaining('policy.run: got "scratch"; its agent was made from scratch') as string,
  });
}, 120_000);
