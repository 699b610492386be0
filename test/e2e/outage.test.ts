import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import type { Progress } from '../../src/types/activity-types.ts';
import type { ComparisonProgress } from '../../src/types/comparison-types.ts';
import type { EvaluationProgress } from '../../src/types/evaluation-types.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import type { EpochProgress } from '../../src/workflows/messages.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { TestProcess, until } from '../../test-support/processes.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { genenv, startGenenv } from '../cli/genenv-process.ts';

/** Model servers that are away, on a real Temporal server and a real worker. */

// One attempt, so that nothing but the wait of the workflow can bring a phase through an outage.
const shards = 8;
const file = withFields(tinyExperiment(), {
  epochs: 2,
  'durability.maxPhaseAttempts': 1,
  'durability.shards': shards,
  'durability.promptsPerRequest': 1,
});
let stack: InstantStack;
let server: string;
let comeBack: (() => Promise<void>) | undefined;

beforeAll(async () => {
  stack = await InstantStack.start(parseExperiment(file).world, {
    chat: () => '<answer>unknown</answer>',
  });
  server = stack.models.url;
}, 240_000);
afterEach(async () => comeBack?.());
afterAll(() => stack[Symbol.asyncDispose](), 60_000);

async function goAway(): Promise<void> {
  const back = await stack.models.goAway();
  comeBack = async () => {
    comeBack = undefined;
    await back();
  };
}
const run = (id: string): RunFolder => new RunFolder(join(stack.home, 'runs'), id);
const start = (type: string, workflowId: string, content: unknown): Promise<WorkflowHandle> =>
  stack.client.workflow.start(type, { args: [content], workflowId, taskQueue: queues.workflows });
const progress = <Answer = Progress>(id: string, query = 'progress'): Promise<Answer | undefined> =>
  stack.client.workflow
    .getHandle(id)
    .query<Answer>(query)
    .catch(() => undefined);
const status = (...args: string[]) =>
  genenv(['status', ...args, '--address', stack.address], { GENENV_HOME: stack.home });
/** What Temporal's UI shows of a workflow. */
async function details(id: string): Promise<string> {
  const cli = new TestProcess(
    temporalPath(),
    ['--address', stack.address, 'workflow', 'metadata', '--workflow-id', id],
    { env: process.env, cwd: repository, log: join(stack.home, 'cli.log') },
  );
  await cli.exited;
  return cli.output;
}
async function historyAt(id: string): Promise<{ tries: number; events: number; bytes: number }> {
  const { waiting } = (await progress<EpochProgress>(id, 'epochProgress'))!;
  const { historyLength, historySize } = await stack.client.workflow.getHandle(id).describe();
  return { tries: waiting!.tries, events: historyLength, bytes: historySize! };
}
const waits = (id: string, tries: number, query = 'progress'): Promise<void> =>
  until(
    async () => ((await progress<Pick<EpochProgress, 'waiting'>>(id, query))?.waiting?.tries ?? 0) >= tries,
    60_000,
    `${id} to wait`,
  );
const waitText = (): string =>
  `waiting for ${server}: connection refused, \\d+ (try|tries), since \\d\\d:\\d\\d UTC`;

test('an epoch waits for its model server, says so everywhere, and ends as if nothing had been', async () => {
  await (await start('experiment', 'undisturbed', file)).result();
  const handle = await start('experiment', 'away', file);
  const epoch = 'away/epoch-0001';
  await until(
    async () => (await progress<EpochProgress>(epoch, 'epochProgress')) !== undefined,
    60_000,
    epoch,
  );
  await goAway();
  await until(
    async () => {
      const since = (await progress<EpochProgress>(epoch, 'epochProgress'))?.waiting?.since;
      return since !== undefined && Date.now() - Date.parse(since) > 3_000;
    },
    60_000,
    'an outage of 3 s',
  );
  await waits('away', 2);

  const inEpoch = (await progress<EpochProgress>(epoch, 'epochProgress'))!;
  expect(inEpoch.waiting).toMatchObject({ server, reason: 'connection refused' });
  const inRun = (await progress('away'))!;
  expect(inRun).toMatchObject({ status: 'running', epoch: 1, waiting: { server } });
  expect(inRun.phase).toMatch(new RegExp(`^epoch 1: ${inEpoch.phase}; ${waitText()}$`));
  expect(await details('away')).toMatch(new RegExp(`\\*\\*${waitText()}\\*\\*`));
  expect(await details(epoch)).toMatch(new RegExp(`epoch \\*\\*1\\*\\*: ${inEpoch.phase}; ${waitText()}`));
  const text = await status('away');
  expect(text.out).toMatch(new RegExp(`^phase +epoch 1: ${inEpoch.phase}; ${waitText()}$`, 'm'));
  expect(text.out).toMatch(new RegExp(`^state +running, ${waitText()}$`, 'm'));
  const json = JSON.parse((await status('away', '--json')).out) as { progress: Progress };
  expect(json.progress).toMatchObject({ waiting: { server } });
  expect((await status()).out).toContain('waiting');

  // One shard tries for all of them, after delays that double.
  const seconds = (Date.now() - Date.parse(inEpoch.waiting!.since)) / 1000;
  expect(inEpoch.waiting!.tries).toBeLessThanOrEqual(shards + Math.log2(1 + seconds / 0.2) + 1);
  // A try is 13 events, and 5 more if the parent is told of it.
  const before = await historyAt(epoch);
  await waits(epoch, before.tries + 2, 'epochProgress');
  const after = await historyAt(epoch);
  const tries = after.tries - before.tries;
  console.log(
    `a try: ${(after.events - before.events) / tries} events, ${(after.bytes - before.bytes) / tries} bytes`,
  );
  expect((after.events - before.events) / tries).toBeLessThanOrEqual(18);

  await comeBack!();
  expect(await handle.result()).toMatchObject({ outcome: 'finished', epochs: 2 });
  expect(await progress('away')).toMatchObject({ waiting: null });
  const [expected, actual] = ['undisturbed', 'away'].map((id) => run(id).ledgerFile);
  expect(readFileSync(actual!, 'utf8')).toBe(readFileSync(expected!, 'utf8'));
  const outages = (await run('away').events()).filter(({ type }) => type.startsWith('model-'));
  expect(outages[0]).toMatchObject({ type: 'model-unavailable', server, tries: 1, workflow: epoch });
  expect(outages.at(-2)).toMatchObject({ type: 'model-unavailable', reason: 'connection refused' });
  expect(outages.at(-1)).toMatchObject({ type: 'model-answered', server });
}, 240_000);

test('`genenv run` prints the wait and its end, and what the preparation found; it waits as an epoch does', async () => {
  await goAway();
  const path = join(stack.home, 'prepared-away.json');
  const checked = withFields(file, { name: 'prepared-away', seed: 8, 'guards.coldStart': { minValid: 0 } });
  writeFileSync(path, JSON.stringify(checked));
  const command = startGenenv(['run', path, '--address', stack.address], { GENENV_HOME: stack.home });
  await until(() => new RegExp(`^${waitText()}$`, 'm').test(command.out()), 60_000, 'the line');
  expect((await progress('prepared-away'))!.phase).toMatch(new RegExp(`^prepare; ${waitText()}$`));
  await comeBack!();
  expect(await command.ended).toMatchObject({ code: 0 });
  expect(command.out()).toMatch(new RegExp(`^no longer waiting for ${server}, after `, 'm'));
  expect(command.out()).toMatch(/^note: cold start: \d+ % of \d+ tasks valid; the agent solves \d+ % /m);
  expect(command.out().match(/waiting for/g)!.length).toBeLessThan(6);
}, 240_000);

test('`durability.maxOutageSeconds` ends the wait, and the run says which server and why', async () => {
  await goAway();
  const limited = withFields(file, { 'durability.maxOutageSeconds': 2, seed: 9 });
  const began = Date.now();
  const handle = await start('experiment', 'limited', limited);
  await expect(handle.result()).rejects.toThrow();
  expect(Date.now() - began).toBeGreaterThan(2_000);
  const ended = (await run('limited').events()).findLast(({ type }) => type === 'ended');
  expect(ended).toMatchObject({ outcome: 'failed' });
  expect(ended!.reason).toMatch(
    new RegExp(`^${server} has been away for more than 2 s .*connection refused`),
  );
  await comeBack!();
  expect(await (await start('experiment', 'limited', limited)).result()).toMatchObject({
    outcome: 'finished',
  });
}, 240_000);

test('an evaluation, a comparison and a night wait, and say so', async () => {
  await goAway();
  const evaluation = await start('evaluation', 'asked-later', {
    name: 'asked-later',
    policy: { type: 'served', baseUrl: server, model: 'any' },
    suites: ['bamboogle_closedbook'],
    limit: 4,
    maxAttempts: 1,
  });
  const comparison = await start(
    'comparison',
    'compared-later',
    tinyComparison({
      experiment: { ...file, seed: undefined, name: undefined, evaluation: { every: 1 } },
      seeds: [3],
      baseline: 'tuned',
      arms: { tuned: {} },
      crossPlay: null,
      probes: null,
    }),
  );
  const night = await start('nightly', 'later', {
    name: 'later',
    epochsPerNight: 1,
    evaluation: { samples: 1 },
    experiment: { ...file, seed: 11 },
  });
  await until(
    async () => (await progress<EvaluationProgress>('asked-later'))?.waiting?.reason === 'connection refused',
    60_000,
    'the evaluation to wait',
  );
  expect(await details('asked-later')).toMatch(new RegExp(waitText()));
  await until(
    async () => (await progress<ComparisonProgress>('compared-later'))?.waiting.length === 1,
    60_000,
    'the comparison to wait',
  );
  expect((await progress<ComparisonProgress>('compared-later'))!.waiting).toMatchObject([
    { workflow: 'compared-later.tuned.3', phase: 'prepare', outage: { server } },
  ]);
  expect(await details('compared-later')).toMatch(
    new RegExp(`compared-later.tuned.3: prepare; ${waitText()}`),
  );
  await until(async () => (await details('later')).includes('waiting for'), 60_000, 'the night to wait');
  expect(await details('later')).toMatch(new RegExp(`later-night-0001: prepare; ${waitText()}`));
  await comeBack!();
  await evaluation.result();
  expect(await progress('asked-later')).toMatchObject({ status: 'finished', waiting: null });
  await comparison.result();
  expect(await progress('compared-later')).toMatchObject({ status: 'finished', waiting: [] });
  await night.result();
  expect(await details('later')).not.toContain('waiting for');
}, 240_000);
