/**
 * The workflow of one epoch: a child of the experiment, which tells it of pauses. The phases and their order
 * are in src/epochs/epoch-pipeline.ts.
 */
import { condition, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { CommittedEpoch } from '../types/activity-types.ts';
import type { ModelOutage } from '../types/outage-types.ts';
import { proxyPhaseActivities } from './activity-proxies.ts';
import { runEpochPipeline } from '../epochs/epoch-pipeline.ts';
import type { EpochStart } from '../epochs/pipeline-activities.ts';
import { RolloutProgress } from '../epochs/rollout-progress.ts';
import { epochProgressQuery, pausedSignal } from './messages.ts';
import { modelOutages } from './model-outages.ts';
import { phaseText } from './outage-text.ts';
import { Stopwatch } from './progress.ts';

export interface EpochInput extends EpochStart {
  /** Whether to wait before the first phase until a signal says to continue. */
  paused: boolean;
}

/** One epoch of co-evolution. A pause takes effect before the next phase. */
export async function epochWorkflow({
  paused: pausedAtStart,
  ...start
}: EpochInput): Promise<CommittedEpoch> {
  const stopwatch = new Stopwatch();
  const rollouts = new RolloutProgress(start.settings);
  let paused = pausedAtStart;
  setHandler(pausedSignal, (shouldPause) => void (paused = shouldPause));
  const waiting = (): ModelOutage | null => modelOutages.current()?.outage ?? null;
  setHandler(epochProgressQuery, () => ({
    phase: stopwatch.phase,
    paused,
    ...rollouts.counts(),
    waiting: waiting(),
  }));
  const showPhase = (): void =>
    setCurrentDetails(`epoch **${start.epoch}**: ${phaseText(stopwatch.phase, waiting())}`);
  modelOutages.show({ phase: () => stopwatch.phase, onChange: showPhase });
  return runEpochPipeline(proxyPhaseActivities(start.settings), start, {
    ...stopwatch.runner({ before: () => condition(() => !paused), onPhase: showPhase }),
    onRound: (round) => {
      rollouts.startRound(round);
    },
    onRollouts: (traces) => {
      rollouts.add(traces);
    },
  });
}
