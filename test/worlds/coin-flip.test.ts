import { expect, it } from 'vitest';
import { mean } from '../../src/numerics/arithmetic.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { RewardRecord, ScoreRecord } from '../../src/types/records.ts';
import { someRun } from '../activities/some-run.ts';
import type { SomeRun } from '../activities/some-run.ts';

const trapped = (id: string) =>
  someRun(
    { 'world.coinFlipTools': 1, 'environment.promptsPerEpoch': 16 },
    { success: () => 1, task: (_, random) => (random.int(2) === 0 ? 'T:abcde' : 'U:abcde') },
    id,
  );

async function firstEpoch(run: SomeRun): Promise<{
  rewards: RewardRecord[];
  scores: ScoreRecord[];
  line: string;
  metrics: Record<string, number | null>;
}> {
  const { line, metrics } = await run.epochs(1);
  const lines = await run.dependencies
    .runFolder(run.plan.run.id)
    .ledger<LedgerEntry>(run.plan.run.experiment.sha256)
    .read();
  const { outputs } = lines.at(-1)!;
  return {
    rewards: await run.records(outputs.rewards),
    scores: await run.records(outputs.scores),
    line,
    metrics,
  };
}

const average = (values: readonly (number | null)[]) => mean(values.filter((value) => value !== null))!;

it('a coin-flip tool looks half solved by anybody, and two verdicts on it differ, which is what betrays it', async () => {
  const { rewards, scores, metrics } = await firstEpoch(await trapped('one'));
  const [honest, coin] = ['T', 'U'].map((kind) => scores.filter((score) => score.kind === kind));
  expect(average(honest!.map(({ success_rate }) => success_rate))).toBe(1);
  // About 32 tasks of 4 attempts (of 16 and more by the random policy): standard deviation 0.05.
  expect(Math.abs(average(coin!.map(({ success_rate }) => success_rate)) - 0.5)).toBeLessThan(0.2);
  expect(Math.abs(average(coin!.map(({ random_rate }) => random_rate)) - 0.5)).toBeLessThan(0.2);
  const coinTasks = new Set(coin!.map(({ task_id }) => task_id));
  const agreed = (records: readonly RewardRecord[]) =>
    average(records.map(({ reward, second_reward }) => Number(reward === second_reward)));
  expect(agreed(rewards.filter(({ task_id }) => !coinTasks.has(task_id)))).toBe(1);
  expect(Math.abs(agreed(rewards.filter(({ task_id }) => coinTasks.has(task_id))) - 0.5)).toBeLessThan(0.2);
  expect(metrics['env/verdict_agreement']).toBeLessThan(0.9);
});

it('its coins fall as they fell when the epoch is run again', async () => {
  expect((await firstEpoch(await trapped('one'))).line).toBe((await firstEpoch(await trapped('two'))).line);
});
