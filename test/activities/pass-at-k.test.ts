import { expect, it } from 'vitest';
import { mean } from '../../src/numerics/arithmetic.ts';
import { passAtK } from '../../src/numerics/tests.ts';
import type { VerdictRecord } from '../../src/types/records.ts';
import { linesOf } from '../guards/learners.ts';
import { someRun } from './some-run.ts';

const sampled = { epochs: 2, 'guards.frozenSamples': 0, 'evaluation.every': 2, 'evaluation.samples': 6 };
/** Half of the tasks are always solved, and the others once in five: what sharpening an agent comes to. */
const player = {
  success: (_: number, model: string, spec: string) => {
    if (spec.startsWith('T')) return 1;
    return model.startsWith('agent@0000') ? 0.5 : 0.2;
  },
};

it('pass@1 and pass@k are measured where they are asked for, before the first epoch too', async () => {
  const run = await someRun({ ...sampled, 'evaluation.passAtK': 4 }, player);
  await run.epochs(2);
  const [before, between, after] = await linesOf(run);
  for (const { metrics, outputs } of [before!, after!]) {
    const verdicts = (
      await Promise.all(outputs.verdicts.map((file) => run.records<VerdictRecord>(file)))
    ).flat();
    const tasks = Map.groupBy(verdicts, ({ task_id }) => task_id);
    const counts = [...tasks.values()].map((attempts) => ({
      successes: attempts.filter(({ reward }) => reward === 1).length,
      attempts: attempts.length,
    }));
    expect(new Set(counts.map(({ attempts }) => attempts))).toEqual(new Set([6]));
    expect(metrics['eval/pass_at_1']).toBeCloseTo(metrics['eval/heldout']!, 12);
    expect(metrics['eval/pass_at_k']).toBeCloseTo(mean(counts.map((count) => passAtK(count, 4)))!, 12);
    expect(metrics['eval/pass_at_k']!).toBeGreaterThan(metrics['eval/pass_at_1']!);
  }
  expect(after!.metrics['eval/pass_at_k']!).toBeLessThan(before!.metrics['eval/pass_at_k']!);
  expect(between!.metrics).not.toHaveProperty('eval/pass_at_k');
});

it('nothing is measured otherwise, and success is what it was', async () => {
  const evaluated = async (fields: Record<string, unknown>) => {
    const { metrics } = await (await someRun({ ...sampled, ...fields }, player)).epochs(2);
    return Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith('eval/')));
  };
  const {
    'eval/pass_at_1': passAt1,
    'eval/pass_at_k': passAtMany,
    ...success
  } = await evaluated({ 'evaluation.passAtK': 4 });
  expect([typeof passAt1, typeof passAtMany]).toEqual(['number', 'number']);
  expect(await evaluated({})).toEqual(success);
});
