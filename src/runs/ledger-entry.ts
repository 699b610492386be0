import type { FileRef } from '../store/references.ts';
import type { CommitInput, Metrics, RunState } from '../types/activity-types.ts';

/**
 * A line of the ledger, but for the hash of the line before: what went into an epoch and what came out,
 * nothing of when, where or how often.
 */
export type LedgerEntry = {
  epoch: number;
  inputs: {
    /** The settings in effect, whole. */
    experiment: FileRef;
    /** Those that can be changed under a run. */
    settings: Record<string, number>;
  };
  outputs: CommitInput['outputs'] & { state: RunState };
  metrics: Metrics;
  notes: string[];
};
