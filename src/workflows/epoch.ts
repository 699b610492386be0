/**
 * The workflow of one epoch: a child of the experiment, which tells it of pauses. The steps and their order
 * are in epoch-pipeline.ts.
 */
import { condition, setHandler } from '@temporalio/workflow';
import type { CommittedEpoch } from '../types/activity-types.ts';
import { proxyPhaseActivities } from './activity-proxies.ts';
import { runEpochPipeline } from './epoch-pipeline.ts';
import type { EpochStart } from './epoch-pipeline.ts';
import { epochProgressQuery, pausedSignal } from './messages.ts';
import { Stopwatch } from './progress.ts';

export interface EpochInput extends EpochStart {
  /** Whether to wait before the first step until a signal says to continue. */
  paused: boolean;
}

/** One epoch of co-evolution. A pause takes effect before the next step. */
export async function epochWorkflow({
  paused: pausedAtStart,
  ...start
}: EpochInput): Promise<CommittedEpoch> {
  const stopwatch = new Stopwatch();
  let rolloutsDone = 0;
  let paused = pausedAtStart;
  setHandler(pausedSignal, (shouldPause) => void (paused = shouldPause));
  setHandler(epochProgressQuery, () => ({ phase: stopwatch.phase, paused, rolloutsDone }));
  return runEpochPipeline(proxyPhaseActivities(start.settings), start, {
    ...stopwatch.runner(() => condition(() => !paused)),
    onRollouts: (traces) => void (rolloutsDone += traces),
  });
}
