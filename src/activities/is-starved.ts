import type { Experiment } from '../contracts/experiment.ts';
import type { RunState } from '../contracts/phases.ts';
import type { HistoryRecord } from '../contracts/records.ts';
import type { Ports } from './ports.ts';

/** Whether the simulator has had nothing to learn from for as long as `guards.starvedAfter` says. */
export async function isStarved({ store }: Ports, { guards }: Experiment, state: RunState): Promise<boolean> {
  if (guards.starvedAfter === undefined || guards.starvedAfter === null) return false;
  const { starved = 0 } = await store.json<HistoryRecord>(state.history);
  return starved >= guards.starvedAfter;
}
