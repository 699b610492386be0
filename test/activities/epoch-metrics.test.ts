import { expect, test } from 'vitest';
import { calibrationError } from '../../src/coevolution/success-band.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import type { FilterRecord, ScoreRecord, TaskRecord, TraceRecord } from '../../src/types/records.ts';
import { linesOf } from '../guards/learners.ts';
import { someRun } from './some-run.ts';

/** The records of a run's last epoch. */
async function lastEpoch(run: Awaited<ReturnType<typeof someRun>>) {
  const { outputs, metrics } = (await linesOf(run)).at(-1)!;
  return {
    metrics,
    tasks: await run.records<TaskRecord>(outputs.tasks),
    scores: await run.records<ScoreRecord>(outputs.scores),
    decisions: await run.records<FilterRecord>(outputs.decisions),
    traces: (await Promise.all(outputs.traces.map((file) => run.records<TraceRecord>(file)))).flat(),
  };
}

const tokens = (records: readonly { sampled: { token_ids: number[] } | null }[]): number =>
  records.reduce((sum, { sampled }) => sum + (sampled?.token_ids.length ?? 0), 0);

test('an epoch says how far from α its tasks are, how long prompts are, and what was sampled', async () => {
  const run = await someRun({ 'difficulty.alpha': 0.4 });
  await run.epochs(1);
  const { metrics, tasks, scores, traces } = await lastEpoch(run);
  const rates = scores.flatMap(({ success_rate: rate }) => (rate === null ? [] : [rate]));
  expect(new Set(rates).size).toBeGreaterThan(2);
  expect(metrics['env/calibration_error']).toBeCloseTo(mean(rates.map((rate) => Math.abs(rate - 0.4)))!, 12);
  const agent = traces.filter(({ role }) => role === 'agent');
  const lengths = agent.map(({ sampled }) => sampled.prompt_token_ids.length);
  expect(metrics['prompts/mean_length']).toBeCloseTo(mean(lengths)!, 12);
  expect(metrics).toMatchObject({
    'env/generated': tasks.length,
    'env/num_tokens': tokens(tasks),
    'rollouts/num_tokens': tokens(traces),
  });
  expect(tokens(tasks) + tokens(traces)).toBe(metrics.num_tokens! - run.prepared.state.tokens);
});

test('candidates that were not selected are counted too, and a data set is not written again', async () => {
  const selection = await someRun({ arm: { type: 'selection' }, 'environment.training': null });
  await selection.epochs(1);
  expect((await lastEpoch(selection)).metrics['env/generated']).toBe(64);
  const dataset = await someRun({ arm: { type: 'static' }, 'environment.training': null });
  await dataset.epochs(1);
  expect((await lastEpoch(dataset)).metrics).toMatchObject({ 'env/generated': 0, 'env/num_tokens': 0 });
});

test('with a filter, kept and measured tasks are counted by tenth of the success rate', async () => {
  const run = await someRun({ filter: { type: 'threshold', kMin: 0.25 } });
  await run.epochs(1);
  const { metrics, scores, decisions } = await lastEpoch(run);
  const expected: Record<string, number> = {};
  for (const [index, { target_rate: rate }] of scores.entries()) {
    // Rates of four rollouts: 0, 2, 5, 7 and 9 are their tenths.
    const tenth = Math.min(9, Math.floor(10 * rate!));
    expected[`env/rate_tenths/${tenth}`] = (expected[`env/rate_tenths/${tenth}`] ?? 0) + 1;
    expected[`env/rate_tenths_kept/${tenth}`] =
      (expected[`env/rate_tenths_kept/${tenth}`] ?? 0) + Number(decisions[index]!.kept_for_environment);
  }
  const reported = Object.entries(metrics).filter(([name]) => name.startsWith('env/rate_tenths'));
  expect(Object.fromEntries(reported)).toEqual(expected);
  expect(expected['env/rate_tenths_kept/5']).toBeGreaterThan(0);
  expect(expected['env/rate_tenths_kept/9'] ?? 0).toBe(0);
  const off = await someRun({ filter: { type: 'off' } });
  await off.epochs(1);
  expect(Object.keys((await lastEpoch(off)).metrics).filter((name) => name.includes('tenths'))).toEqual([]);
});

test('an update says whether the cap on its KL acted', async () => {
  const run = await someRun({ 'guards.flatRewards': null });
  run.trainer.nextKls.push(
    { before: 0.2, after: 0.4, rule: 'none' },
    { before: 0.4, after: 0.9, rule: 'pull_back' },
    { before: 0.9, after: 0.3, rule: 'restored' },
  );
  await run.epochs(3);
  const capped = (await linesOf(run)).map(({ metrics }) => [metrics['env/kl'], metrics['env/kl_capped']]);
  expect(capped.slice(1)).toEqual([
    [0.4, 0],
    [0.9, 1],
    [0.3, 1],
  ]);

  // An update that was not made says nothing of the cap.
  const starved = await someRun({ 'guards.flatRewards': 1 });
  await starved.epochs(1);
  expect((await lastEpoch(starved)).metrics['env/kl_capped'] ?? null).toBeNull();
});

test('the calibration error is the mean distance of what was measured', () => {
  expect(calibrationError([0, 0.5, null, 1], 0.5)).toBeCloseTo(1 / 3, 12);
  expect(calibrationError([0.3], 0.8)).toBeCloseTo(0.5, 12);
  expect(calibrationError([null], 0.5)).toBeNull();
  expect(() => calibrationError([0.5], 1.5)).toThrow(/alpha/);
  expect(() => calibrationError([1.2], 0.5)).toThrow(/rates/);
});
