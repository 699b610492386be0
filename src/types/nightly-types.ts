import type { Experiment } from '../config/experiment.ts';
import type { Nightly } from '../config/nightly.ts';
import type { PairedTest } from '../numerics/tests.ts';
import type { FileRef } from '../store/references.ts';
import type { PhaseLimits, PolicyVersion, Run, RunState } from './activity-types.ts';

/** Inputs and results of a nightly curriculum's activities. Types only, so workflows may import them. */

/** A committed epoch of a run. */
export interface RunEpoch {
  run: string;
  epoch: number;
}

/** A night to start or to resume. */
export interface NightPlan {
  nightly: Pick<Nightly, 'name' | 'significance' | 'evaluation'>;
  night: number;
  /** Id of the night's experiment. */
  id: string;
  /** Its file. */
  experiment: Experiment;
  /** What it starts from: the champion's epoch; null on a first night that starts fresh. */
  from: RunEpoch | null;
  deadlineMs: number | null;
  settings: PhaseLimits;
}

/** How the night's experiment ended: the last epoch that it committed. */
export type CandidateInput = { night: NightPlan; epoch: number };

/** The champion and the new agent, to be evaluated in the same way. */
export interface PromotionTrial {
  run: Run;
  epoch: number;
  state: RunState;
  shards: number;
  before: PolicyVersion;
  after: PolicyVersion;
}

export type Verdicts = { before: FileRef[]; after: FileRef[] };
export type CloseNightInput = CandidateInput & {
  /** How the experiment ended. */
  outcome: string;
  /** Null if the night brought no new epoch. */
  verdicts: Verdicts | null;
};
export type FailNightInput = { night: NightPlan; reason: string };

/** A line of `nights.jsonl`: the outcome of a night, and why. */
export interface NightRecord {
  night: number;
  /**
   * `promoted` and `kept` close a night; so does `abandoned`, whose file was changed meanwhile. A `failed`
   * night is resumed.
   */
  outcome: 'promoted' | 'kept' | 'abandoned' | 'failed';
  reason: string;
  /** The champion, which the next night starts from; null if it starts fresh. */
  standing: RunEpoch | null;
  candidate: RunEpoch | null;
  test: NightTest | null;
  time: string;
}

export type NightTest = PairedTest & {
  tasks: number;
  /** Attempts at each task. */
  samples: number;
  significance: number;
  /** Mean success of the champion and of the new agent. */
  before: number;
  after: number;
  verdicts: Verdicts;
};
