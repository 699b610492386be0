import type { Metrics, RunState } from '../contracts/phases.ts';
import type { CommitInput } from '../contracts/phases.ts';
import type { FileRef } from '../contracts/refs.ts';

/** A line of the ledger, but for the hash of the line before: what went into an epoch and what came out, nothing of when, where or how often. */
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
