import type { PairedTest } from '../numerics/tests.ts';
import type { RunEpoch, Verdicts } from './nightly-inputs.ts';
import type { PolicyVersion, Run, RunState } from './run-state.ts';

/** Results of a nightly curriculum's activities, and its record. Types only, so workflows may import them. */

/** The champion and the new agent, to be evaluated in the same way. */
export interface PromotionTrial {
  run: Run;
  epoch: number;
  state: RunState;
  shards: number;
  before: PolicyVersion;
  after: PolicyVersion;
}

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
