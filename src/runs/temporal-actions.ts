/**
 * What Temporal Cloud bills of a run, in actions. They are counted as its documentation says
 * (https://docs.temporal.io/evaluate/cloud/actions, read on 2026-11-23): one for each start of a workflow by
 * a client or by continuing as new, two for a child workflow, one for an activity and for each retry of it,
 * one for a timer, a signal, an update and an upsert of search attributes. Heartbeats that reach the server
 * and queries are billed too, but are in no history, and a namespace with fairness pays a tenth more.
 */
import type { WorkflowSettings } from '../types/run-state.ts';

export interface PlannedActions {
  /** By epoch; the first is the preparation, which a fork does without. */
  epochs: number[];
  /** Start, continuing as new and end of the experiment's workflow. */
  run: number;
}

const childWorkflow = 2;
/** `upsertSearchAttributes` after an epoch, and at the end. */
const upsert = 1;
/** Each, and the preparation, begins with `openEpoch`. */
const opening = 1;
/** `updatePools`, two `publishPolicy`, `commitEpoch`. */
const alwaysInEpoch = 4;
/** `drawTasks`, `computeRewards`, `filterByDifficulty`. */
const alwaysInRound = 3;
/** Two `warmUp`, `prepareRun`, two `publishPolicy`, `commitEpoch`. */
const alwaysInPreparation = 6;

type Settings = Pick<
  WorkflowSettings,
  | 'epochs'
  | 'epochsPerRun'
  | 'evaluateEvery'
  | 'gateEvery'
  | 'shards'
  | 'trains'
  | 'writesPool'
  | 'checksColdStart'
>;

/** Actions of a round of tasks and rollouts; with dynamic sampling an epoch has several. */
export const actionsOfRound = ({ shards }: Pick<Settings, 'shards'>): number =>
  shards.generate + shards.rollOut + alwaysInRound;

/**
 * Actions of a run that nothing disturbs and nobody controls, one round an epoch, without heartbeats, queries and
 * evaluations on benchmarks.
 * @param forkedAt the epoch that a fork starts from; it has no preparation of its own
 */
export function planActions(settings: Settings, forkedAt = 0): PlannedActions {
  const { epochsPerRun, shards, trains } = settings;
  const epochs = Math.max(0, settings.epochs - forkedAt);
  const isDue = (every: number | undefined, epoch: number): boolean =>
    every !== undefined && (epoch % every === 0 || epoch === settings.epochs);
  const count = (...steps: boolean[]): number => steps.filter(Boolean).length;
  const preparation =
    opening +
    alwaysInPreparation +
    count(settings.checksColdStart === true, settings.writesPool === true, settings.gateEvery !== undefined) +
    shards.evaluate;
  const ofEpoch = (epoch: number): number =>
    opening +
    childWorkflow +
    alwaysInEpoch +
    actionsOfRound(settings) +
    count(trains.agent, trains.environment, isDue(settings.gateEvery, epoch)) +
    (isDue(settings.evaluateEvery, epoch) ? shards.evaluate : 0) +
    upsert;
  const continuations = Math.max(0, Math.ceil(epochs / epochsPerRun) - 1);
  return {
    epochs: [
      forkedAt === 0 ? preparation : 0,
      ...Array.from({ length: epochs }, (_, index) => ofEpoch(forkedAt + index + 1)),
    ],
    // Start, `parseExperiment`, the last opening, `recordEnd` and its upsert; a continuation opens again.
    run: 1 + 1 + opening + 1 + upsert + continuations * (1 + opening),
  };
}

/** The worker sends heartbeats of an activity to the server at most this often. */
export const heartbeatIntervalSeconds = 2;
/** The SDK waits for this share of the heartbeat timeout at most. */
const heartbeatShare = 0.8;

/**
 * The most heartbeats that reach the server while some activities work for so long.
 * @param seconds of work
 * @param heartbeatSeconds heartbeat timeout
 */
export function mostHeartbeats(seconds: number, heartbeatSeconds: number, activities = 1): number {
  const interval = Math.min(heartbeatShare * heartbeatSeconds, heartbeatIntervalSeconds);
  return activities * Math.ceil(seconds / interval);
}
