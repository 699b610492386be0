import { condition, setHandler } from '@temporalio/workflow';
import type { CommittedEpoch } from '../types/activity-types.ts';
import { phaseActivities } from './activity-proxies.ts';
import { runEpochPipeline } from './epoch-pipeline.ts';
import type { EpochStart } from './epoch-pipeline.ts';
import { epochProgressQuery, pausedSignal } from './messages.ts';
import { Stopwatch } from './progress.ts';

export interface EpochInput extends EpochStart {
  /** Whether to wait before the first phase until told to go on. */
  paused: boolean;
}

/** One epoch of co-evolution. A pause takes effect before the next phase. */
export async function epoch({ paused: pausedAtStart, ...start }: EpochInput): Promise<CommittedEpoch> {
  const watch = new Stopwatch();
  let rolloutsDone = 0;
  let paused = pausedAtStart;
  setHandler(pausedSignal, (asked) => void (paused = asked));
  setHandler(epochProgressQuery, () => ({ phase: watch.phase, paused, rolloutsDone }));
  return runEpochPipeline(phaseActivities(start.settings), start, {
    ...watch.runner(() => condition(() => !paused)),
    onRollouts: (traces) => void (rolloutsDone += traces),
  });
}
