import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { RolloutCounts } from '../epochs/rollout-progress.ts';
import type { FieldValues } from '../config/retune.ts';
import type { Progress, Retuned } from '../types/activity-types.ts';
import type { ComparisonProgress } from '../types/comparison-types.ts';
import type { EvaluationProgress } from '../types/evaluation-types.ts';
import type { ModelOutage, OutageReport } from '../types/outage-types.ts';

/** State of an experiment, for people and programs. */
export const progressQuery = defineQuery<Progress>('progress');

/** State of a comparison, under the same name. */
export const comparisonProgressQuery = defineQuery<ComparisonProgress>('progress');

/** State of an evaluation, or of judging its answers again. */
export const evaluationProgressQuery = defineQuery<EvaluationProgress>('progress');

/** How far an epoch has come. */
export interface EpochProgress extends RolloutCounts {
  phase: string;
  paused: boolean;
  /** The model server that the epoch waits for. */
  waiting: ModelOutage | null;
}
export const epochProgressQuery = defineQuery<EpochProgress>('epochProgress');

/** Requests to an experiment; each returns the state that it is then in. */
export const pauseUpdate = defineUpdate<ControlState>('pause');
export const resumeUpdate = defineUpdate<ControlState>('resume');
export const stopAfterEpochUpdate = defineUpdate<ControlState>('stopAfterEpoch');
/** Settings from the next epoch on, by dotted path; returns all retunable settings then in effect. */
export const retuneUpdate = defineUpdate<Retuned, [FieldValues]>('retune');
/** The same as the update, for senders that cannot wait for a result, such as the workflow of a night. */
export const stopAfterEpochSignal = defineSignal('stopAfterEpoch');
/** From an experiment to its epoch: wait before the next step, or continue. */
export const pausedSignal = defineSignal<[boolean]>('paused');

/** From a workflow, named by its id, to its parent: what it waits for, or null if it waits no more. */
export const outageSignal = defineSignal<[string, OutageReport | null]>('modelOutage');

/** What people have requested of an experiment; it survives continue-as-new. */
export interface ControlState {
  paused: boolean;
  stopAfterEpoch: boolean;
}
