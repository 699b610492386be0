import type { FileRef } from '../store/references.ts';
import type { CommitInput } from '../types/activity-inputs.ts';
import type { Metrics, RunState } from '../types/run-state.ts';

/**
 * A line of the ledger, without the hash of the line before: the inputs and outputs of an epoch, without
 * time, place or number of attempts.
 */
export type LedgerEntry = {
  epoch: number;
  inputs: {
    /** The settings in effect, whole. */
    experiment: FileRef;
    /** The retunable ones. */
    settings: Record<string, number>;
  };
  outputs: CommitInput['outputs'] & { state: RunState };
  metrics: Metrics;
  notes: string[];
};
