/**
 * What people are told of an epoch in which something was missing: the simulator wrote no valid task, or all
 * rewards were equal. Messages follow from the ledger and the store, and are in neither.
 */
import type { Experiment } from '../config/experiment.ts';
import type { Metrics } from '../types/run-state.ts';
import type { RewardRecord, TaskRecord } from '../types/records.ts';
import type { World } from '../worlds/world.ts';
import { quoted } from './quoted.ts';
import { simulatorAdvice } from './simulator-advice.ts';

const shownReasons = 3;

/** The records of an epoch, read only if there is something to say of them. */
export interface EpochRecords {
  tasks: () => AsyncIterable<Pick<TaskRecord, 'source' | 'valid' | 'invalid_reason' | 'sampled'>>;
  rewards: () => AsyncIterable<Pick<RewardRecord, 'role' | 'reward' | 'well_formed'>>;
}

/** @param loadWorld called only if there is something to say of the world's tasks */
export async function epochMessages(
  experiment: Experiment,
  metrics: Metrics,
  records: EpochRecords,
  loadWorld: () => Promise<World>,
): Promise<string[]> {
  const messages: string[] = [];
  if (metrics['env/valid_fraction'] === 0)
    messages.push(await invalidTasksMessage(experiment, await loadWorld(), records.tasks()));
  if (metrics.frac_reward_zero_std === 1) {
    const message = await equalRewardsMessage(records.rewards());
    if (message !== null) messages.push(message);
  }
  return messages;
}

async function invalidTasksMessage(
  experiment: Experiment,
  world: World,
  tasks: ReturnType<EpochRecords['tasks']>,
): Promise<string> {
  const counts = new Map<string, number>();
  let written = 0;
  let example: { text: string; reason: string } | undefined;
  for await (const { source, invalid_reason: reason, sampled } of tasks) {
    if (source !== 'new') continue;
    written += 1;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    const text = sampled?.text ?? '';
    if (text.trim() !== '') example ??= { text, reason };
  }
  const common = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, shownReasons);
  const exampleText =
    example === undefined
      ? 'every text was empty'
      : `for example ${quoted(example.text)} (${example.reason})`;
  const advice = simulatorAdvice(experiment, world, new Set(common.map(([reason]) => reason)));
  return (
    `0 of ${written} tasks valid: ${common.map(([reason, count]) => `${count} ${reason}`).join(', ')}; ` +
    `${exampleText}. What may help: ${advice.join(', ')}`
  );
}

async function equalRewardsMessage(records: ReturnType<EpochRecords['rewards']>): Promise<string | null> {
  let count = 0;
  let wellFormed = 0;
  const rewards = new Set<number>();
  for await (const { role, reward, well_formed } of records) {
    if (role !== 'agent') continue;
    count += 1;
    if (well_formed) wellFormed += 1;
    rewards.add(reward);
  }
  if (count === 0) return null;
  const [only] = rewards;
  const what =
    rewards.size === 1
      ? `all ${count} rewards equal (${only!})`
      : `the rewards of each task equal (${count} in all)`;
  return `${what}: nothing to learn from for the agent; ${wellFormed} of ${count} answers well-formed`;
}
