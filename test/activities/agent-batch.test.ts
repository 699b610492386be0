import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { StepTotals } from '../../src/types/training-job.ts';
import { withFields } from '../../test-support/experiments.ts';
import { smallFile, someRun } from './some-run.ts';

/** Some groups of 4 have a signal and some have none. */
const success = (difficulty: number): number => (difficulty <= 4 ? 0.5 : 0.02);

/** What the trainer got for the agent's first update: records by step and group, and the totals. */
async function firstBatch(training: Record<string, unknown>) {
  const fields: Record<string, unknown> = { 'agent.training.stepsPerEpoch': 2 };
  for (const [name, value] of Object.entries(training)) fields[`agent.training.${name}`] = value;
  const run = await someRun(fields, { success });
  await run.epochs(1);
  const { job, records } = run.trainer.jobs.find(({ job: { kind } }) => kind === 'grpo')!;
  const totals = [0, 1].map((step): StepTotals => {
    const own = records.filter((record) => record.step === step);
    const masks = own.flatMap(({ mask }) => mask);
    return { sequences: own.length, active_tokens: masks.filter((active) => active === 1).length };
  });
  return { records, totals, normaliser: job.settings.normaliser_totals };
}
type Batch = Awaited<ReturnType<typeof firstBatch>>;

const withSignal = ({ records }: Batch): Batch['records'] => {
  const groups = Map.groupBy(records, ({ group_id }) => group_id);
  return records.filter(({ group_id }) => groups.get(group_id)!.some(({ advantage }) => advantage !== 0));
};

describe('groups without signal', () => {
  it('that are dropped without rescaling leave the other records, their steps and the mean as they are kept', async () => {
    const kept = await firstBatch({ dropZeroVariance: false });
    const dropped = await firstBatch({ dropZeroVariance: true, normalizeBy: 'all' });
    expect(kept.normaliser).toBeNull();
    expect(withSignal(kept).length).toBeLessThan(kept.records.length / 1.3);
    expect(dropped.records).toEqual(withSignal(kept));
    expect(dropped.normaliser).toEqual(kept.totals);
    expect(dropped.normaliser).not.toEqual(dropped.totals);
  });

  it('stay in the mean of a file that does not name it', async () => {
    const unnamed = await firstBatch({ dropZeroVariance: true });
    expect(unnamed).toEqual(await firstBatch({ dropZeroVariance: true, normalizeBy: 'all' }));
    expect(unnamed.normaliser).not.toBeNull();
  });

  it('leave the mean if it is of the kept groups, which it is where the batch is refilled', async () => {
    const named = await firstBatch({ dropZeroVariance: true, normalizeBy: 'kept' });
    expect(named.normaliser).toBeNull();
    expect(withSignal(named)).toEqual(named.records);
    const dynamicSampling = { informativeGroups: 2, maxRounds: 4 };
    expect((await firstBatch({ dropZeroVariance: true, dynamicSampling })).normaliser).toBeNull();
  });

  it('that the format reward gives advantages to are not dropped', async () => {
    const shaped = { formatReward: 0.1 };
    const kept = await firstBatch({ dropZeroVariance: false, ...shaped });
    const dropped = await firstBatch({ dropZeroVariance: true, normalizeBy: 'all', ...shaped });
    expect(dropped.records).toEqual(withSignal(kept));
  });

  it('have no effect on what a loss is divided by if none is dropped', async () => {
    const kept = await firstBatch({ dropZeroVariance: false, normalizeBy: 'all' });
    expect(kept.normaliser).toBeNull();
  });
});

it('the normaliser is left out of a resolved file that does not name it', () => {
  expect(parseExperiment(smallFile).agent.training).not.toHaveProperty('normalizeBy');
  expect(() => parseExperiment(withFields(smallFile, { 'agent.training.normalizeBy': 'some' }))).toThrow(
    'agent.training.normalizeBy: got "some"',
  );
});
