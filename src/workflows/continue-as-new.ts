/** How one run of an experiment's workflow hands over to the next. */
import { makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import type { RunPlan } from '../types/run-state.ts';
import type { ControlState } from './messages.ts';
import type { ProgressHistory } from './progress.ts';

/* eslint-disable id-denylist -- fields on the wire: runs under way have them in their histories */
/**
 * What one run of the workflow hands to the next when it continues as new. Where the experiment stands is in
 * its files.
 */
export interface ContinueAsNewState {
  plan: RunPlan;
  /** The last committed epoch. */
  known: number | null;
  recent: ProgressHistory;
  asked: ControlState;
  /** The epoch whose agent was evaluated on benchmarks last. */
  evaluated?: number;
}
/* eslint-enable id-denylist */

type ExperimentWorkflow = (file: unknown, previous: ContinueAsNewState) => Promise<unknown>;

/**
 * Whether this run is pinned to a deployment version and another one has become current. Servers before 1.31
 * never say so.
 */
export const isPinnedToOlderVersion = (): boolean => workflowInfo().targetWorkerDeploymentVersionChanged;

/**
 * Ends this run of the workflow by throwing.
 * @param options `isOutdated`: whether the next run takes the version that is current
 */
export const continueAsNew = (
  state: ContinueAsNewState,
  { isOutdated }: { isOutdated: boolean },
): Promise<never> =>
  makeContinueAsNewFunc<ExperimentWorkflow>(
    isOutdated ? ({ initialVersioningBehavior: 'AUTO_UPGRADE' } as const) : {},
  )(null, state);
