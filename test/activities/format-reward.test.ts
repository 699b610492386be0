import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { RandomStream } from '../../src/numerics/random.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { RewardRecord, ScoreRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const world = createWorld(parseExperiment(smallFile).world);

/** Right, wrong or no call at all. */
const mixed =
  (rightShare: number) =>
  (prompt: string, random: RandomStream): string => {
    const drawn = random.next();
    const spec = prompt.replace(/_*=$/, '');
    if (drawn < rightShare) return world.referenceAnswer(spec);
    return drawn < 0.7 ? world.randomAnswer(spec, random) : '?!';
  };

async function oneEpoch(fields: Record<string, unknown>, rightShare: number) {
  const run = await someRun(fields, { answer: mixed(rightShare) });
  const { metrics } = await run.epochs(1);
  const { outputs } = await lastLine(run);
  const grpo = run.trainer.jobs.find(({ job: { kind } }) => kind === 'grpo');
  return {
    metrics,
    rewards: await run.records<RewardRecord>(outputs.rewards),
    scores: await run.records<ScoreRecord>(outputs.scores),
    trained: new Set(grpo?.records.map(({ group_id }) => group_id)),
  };
}

async function lastLine({ dependencies, plan }: SomeRun): Promise<LedgerEntry> {
  return (
    await dependencies.runFolder(plan.run.id).ledger<LedgerEntry>(plan.run.experiment.sha256).read()
  ).at(-1)!;
}

describe('a format reward', () => {
  it('moves advantages, and nothing that success is measured by', async () => {
    const [plain, paid] = [
      await oneEpoch({}, 0.3),
      await oneEpoch({ 'agent.training.formatReward': 0.1 }, 0.3),
    ];
    expect(paid.scores).toEqual(plain.scores);
    expect(plain.scores.some(({ env_reward, informative }) => informative && env_reward! > 0.5)).toBe(true);
    for (const name of [
      'reward',
      'reward_std',
      'env/success_rate',
      'env/reward',
      'env/effective_group_ratio',
      'frac_reward_zero_std',
      'completions/well_formed_ratio',
      'eval/heldout',
    ])
      expect(paid.metrics[name], name).toBe(plain.metrics[name]);
    const without = (record: RewardRecord) => ({ ...record, advantage: null });
    expect(paid.rewards.map(without)).toEqual(plain.rewards.map(without));
    for (const [task, group] of Map.groupBy(
      paid.rewards.filter(({ role }) => role === 'agent'),
      ({ task_id }) => task_id,
    )) {
      const totals = group.map(({ reward, well_formed }) => reward + (well_formed ? 0.1 : 0));
      const mean = totals.reduce((sum, total) => sum + total, 0) / totals.length;
      group.forEach(({ advantage }, index) => expect(advantage, task).toBeCloseTo(totals[index]! - mean, 12));
    }
    expect(paid.rewards.map(({ advantage }) => advantage)).not.toEqual(
      plain.rewards.map(({ advantage }) => advantage),
    );
  });

  it('teaches form where every answer is wrong: such a group has a signal, and is still not an informative one', async () => {
    const [plain, paid] = [await oneEpoch({}, 0), await oneEpoch({ 'agent.training.formatReward': 0.1 }, 0)];
    const hopeless = new Set(
      paid.scores.filter(({ successes }) => successes === 0).map(({ task_id }) => task_id),
    );
    expect(paid.scores).toEqual(plain.scores);
    expect([...plain.trained].some((task) => hopeless.has(task))).toBe(false);
    expect([...paid.trained].filter((task) => hopeless.has(task)).length).toBeGreaterThan(4);
  });

  it('of 0 is none: all records and advantages are the same', async () => {
    const [plain, paid] = [
      await oneEpoch({}, 0.3),
      await oneEpoch({ 'agent.training.formatReward': 0 }, 0.3),
    ];
    expect([paid.rewards, paid.scores, paid.trained]).toEqual([plain.rewards, plain.scores, plain.trained]);
  });

  it('stays small beside success, and out of files that do not name it', () => {
    expect(() =>
      parseExperiment({
        ...smallFile,
        agent: { ...(smallFile.agent as object), training: { formatReward: 0.5 } },
      }),
    ).toThrow('agent.training.formatReward: got 0.5');
    expect(parseExperiment(smallFile).agent.training).not.toHaveProperty('formatReward');
  });
});
