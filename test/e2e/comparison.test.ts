import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Summary } from '../../src/comparison/summary.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { Comparison } from '../../src/config/comparison.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import type { LedgerLine } from '../../src/store/ledger-chain.ts';
import type { ComparisonProgress } from '../../src/types/comparison-types.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import type { comparisonWorkflow as comparison } from '../../src/workflows/comparison.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';

/** Comparisons on a real server and worker; models and trainer answer at once. */

let stack: InstantStack;
const file = tinyComparison();
const world = parseComparison(file).arms.tuned!.world;

const start = (workflowId: string, content: unknown = file) =>
  stack.client.workflow.start<typeof comparison>('comparison', {
    args: [content],
    workflowId,
    taskQueue: queues.workflows,
  });
const progress = (id: string): Promise<ComparisonProgress> =>
  stack.client.workflow.getHandle(id).query<ComparisonProgress>('progress');
const folder = (id: string): RunFolder => new RunFolder(join(stack.home, 'runs'), id);
const ledger = async (id: string): Promise<LedgerLine<LedgerEntry>[]> =>
  (await folder(id).open<LedgerEntry>())!.ledger.read();
const summaryOf = async (id: string): Promise<Summary> =>
  JSON.parse(await readFile(join(stack.home, 'comparisons', id, 'summary.json'), 'utf8')) as Summary;
const ids = (id: string): string[] =>
  [1, 2].flatMap((seed) => ['tuned', 'random'].map((arm) => `${id}.${arm}.${seed}`));
const messageOf = async (result: Promise<unknown>): Promise<string> => {
  const error = await result.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WorkflowFailedError);
  let root = error as Error;
  while (root.cause instanceof Error) root = root.cause;
  return root.message;
};

beforeAll(async () => {
  stack = await InstantStack.start(world);
}, 240_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

test('every arm runs under every seed, from the same warm policies, and simulators meet agents', async () => {
  expect(await (await start('whole')).result()).toEqual({
    runs: 4,
    summary: 'comparisons/whole/summary.json',
    results: 'comparisons/whole/results.md',
    report: 'comparisons/whole/report.html',
  });
  expect(await progress('whole')).toEqual({
    comparison: 'whole',
    status: 'finished',
    runs: 4,
    done: 4,
    running: [],
    failed: [],
    waiting: [],
  });
  const ledgers = await Promise.all(ids('whole').map(ledger));
  for (const lines of ledgers) expect(lines.map(({ epoch }) => epoch)).toEqual([0, 1, 2]);
  const warm = ledgers.map(([first]) => [
    first!.outputs.state.agent.checkpoint!.sha256,
    first!.outputs.state.environment.checkpoint!.sha256,
  ]);
  expect(warm[0]).toEqual(warm[1]);
  expect(warm[2]).toEqual(warm[3]);
  expect(warm[0]![0]).not.toBe(warm[2]![0]);

  const summary = await summaryOf('whole');
  expect(summary).toMatchObject({
    baseline: 'random',
    seeds: [1, 2],
    epochs: 2,
    rolloutsPerEpoch: 64,
    arms: [
      { arm: 'tuned', type: 'genenv' },
      { arm: 'random', type: 'random' },
    ],
  });
  expect(summary.arms.flatMap(({ runs }) => runs.map(({ ledger: head }) => head)).toSorted()).toEqual(
    ledgers.map((lines) => hashOf(lines.at(-1))).toSorted(),
  );
  expect(summary.arms[0]!.runs[0]!.curve).toEqual(
    ledgers[0]!.map(({ epoch, metrics }) => ({ rollouts: 64 * epoch, score: metrics['eval/heldout'] })),
  );
  expect(summary.crossPlay).toMatchObject([{ arm: 'tuned', seeds: [1], epochs: [0, 2] }]);
  for (const rate of summary.crossPlay[0]!.rates.flat()) expect(rate).toBeGreaterThanOrEqual(0);
  expect(summary.probes).toMatchObject([{ arm: 'tuned', agents: [{ seed: 1, epoch: 1, tasks: 6 }] }]);
  expect(readFileSync(join(stack.home, 'comparisons/whole/results.md'), 'utf8')).toContain('## Cross-play');
}, 240_000);

test('a comparison that was terminated continues, on an empty server, with what is not done; its runs end as if nothing had been', async () => {
  const { runId } = await start('lost').then((handle) => handle.describe());
  await until(async () => (await progress('lost')).done >= 1, 120_000, 'the first run');
  await stack.client.workflow.getHandle('lost', runId).terminate();
  const [done] = await Promise.all(
    ids('lost').map(async (id) =>
      (await folder(id).events()).some(({ type }) => type === 'ended') ? id : undefined,
    ),
  ).then((endedIds) => endedIds.filter((id) => id !== undefined));
  await stack.stop();
  stack = await InstantStack.start(world, { home: stack.home });

  await (await start('lost')).result();
  expect((await folder(done!).events()).filter(({ type }) => type === 'ended')).toMatchObject([
    { outcome: 'finished' },
    { outcome: 'finished' },
  ]);
  for (const [index, id] of ids('lost').entries())
    expect((await ledger(id)).at(-1)).toEqual((await ledger(ids('whole')[index]!)).at(-1));
  expect(
    readFileSync(join(stack.home, 'comparisons/lost/results.md'), 'utf8').replaceAll('lost.', 'whole.'),
  ).toBe(readFileSync(join(stack.home, 'comparisons/whole/results.md'), 'utf8'));
}, 300_000);

test('never more runs under way than the file allows; a run that fails stops no other, and is named', async () => {
  await folder('partly.random.1').writeExperiment({ another: true });
  const handle = await start('partly', { ...file, concurrency: 1, crossPlay: null });
  const result = messageOf(handle.result());
  let most = 0;
  await until(
    async () => {
      const { running, status } = await progress('partly');
      most = Math.max(most, running.length);
      return status === 'failed';
    },
    120_000,
    'the end',
  );
  expect(most).toBe(1);
  expect(await progress('partly')).toMatchObject({ done: 3, failed: [{ id: 'partly.random.1' }] });
  expect(await result).toMatch(
    /^1 of 4 runs did not finish; .*: partly\.random\.1: experiment: the id "partly\.random\.1" belongs to another experiment file/,
  );
  for (const id of ['partly.tuned.1', 'partly.tuned.2', 'partly.random.2'])
    expect(await ledger(id)).toHaveLength(3);
}, 240_000);

test('a run that is cancelled by itself is named with that reason, and the next one starts', async () => {
  const handle = await start('alone', {
    ...file,
    experiment: { ...(file.experiment as object), epochs: 500 },
    concurrency: 1,
  });
  const started = async (skipped: number): Promise<string> => {
    await until(async () => (await progress('alone')).failed.length === skipped, 60_000, 'the run before');
    await until(async () => (await progress('alone')).running.length === 1, 60_000, 'a run');
    const [id] = (await progress('alone')).running;
    await until(async () => (await folder(id!).events()).length > 0, 60_000, `the run ${id}`);
    return id!;
  };
  const first = await started(0);
  await stack.client.workflow.getHandle(first).cancel();
  expect(await started(1)).not.toBe(first);
  expect((await progress('alone')).failed).toEqual([{ id: first, reason: 'it was cancelled' }]);
  await handle.cancel();
  await messageOf(handle.result());
}, 240_000);

test('cancelling it cancels its runs', async () => {
  const handle = await start('cancelled', {
    ...file,
    experiment: { ...(file.experiment as object), epochs: 500 },
  });
  await until(async () => (await progress('cancelled')).running.length === 2, 60_000, 'two runs');
  const { running } = await progress('cancelled');
  for (const id of running)
    await until(async () => (await folder(id).events()).length > 0, 60_000, `the run ${id}`);
  await handle.cancel();
  await messageOf(handle.result());
  expect((await progress('cancelled')).status).toBe('cancelled');
  for (const id of running)
    expect((await stack.client.workflow.getHandle(id).describe()).status.name).toBe('CANCELLED');
}, 240_000);

test('the same id with a file that changes a run is refused, and wrong input fails at once', async () => {
  await (await start('whole')).result();
  const refused = messageOf(
    (await start('whole', { ...file, experiment: { ...(file.experiment as object), epochs: 3 } })).result(),
  );
  expect(await refused).toContain(
    'comparison: the id "whole" belongs to another comparison file (arms.random.epochs: was 2, is 3; arms.tuned.epochs: was 2, is 3); start this one under another id',
  );
  expect(await messageOf((await start('whole', { ...file, seeds: [1] })).result())).toContain(
    'belongs to another comparison file (seeds.1: was 2, is nothing)',
  );
  expect(await messageOf((await start('wrong', { ...file, baseline: 'none' })).result())).toContain(
    'comparison: baseline: got "none"',
  );
  expect(await messageOf((await start('no/folder')).result())).toContain('workflow id: got "no/folder"');
  expect(existsSync(join(stack.home, 'comparisons', 'wrong'))).toBe(false);
}, 240_000);

test('what is only measured may change: the runs stay as they are, and the new file stands', async () => {
  await (await start('whole')).result();
  const before = await Promise.all(ids('whole').map(ledger));
  const changed = {
    ...file,
    concurrency: 4,
    threshold: 0.7,
    baseline: 'tuned',
    crossPlay: null,
    probes: { arms: ['random'], seeds: [2], tasks: 4, attempts: 8 },
  };
  expect((await (await start('whole', changed)).result()).runs).toBe(4);
  expect(await summaryOf('whole')).toMatchObject({
    threshold: 0.7,
    baseline: 'tuned',
    crossPlay: [],
    probes: [{ arm: 'random', agents: [{ seed: 2, tasks: 4 }] }],
  });
  expect(await Promise.all(ids('whole').map(ledger))).toEqual(before);
  const { threshold, probes } = JSON.parse(
    readFileSync(join(stack.home, 'comparisons/whole/comparison.json'), 'utf8'),
  ) as Comparison;
  expect([threshold, probes?.arms]).toEqual([0.7, ['random']]);
  // As may be added an arm: the others' runs continue as they are.
  const wider = {
    ...changed,
    arms: { ...(file.arms as object), fixed: { arm: { type: 'static' }, environment: { training: null } } },
  };
  expect((await (await start('whole', wider)).result()).runs).toBe(6);
  expect((await summaryOf('whole')).arms.map(({ arm, runs }) => [arm, runs.length])).toEqual([
    ['tuned', 2],
    ['random', 2],
    ['fixed', 2],
  ]);
  expect(await Promise.all(ids('whole').map(ledger))).toEqual(before);
}, 240_000);
