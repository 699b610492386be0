import type { Metrics, RunState } from '../contracts/phases.ts';
import type { CommitInput } from '../contracts/phases.ts';

/** A line of the ledger, but for the hash of the line before: what went into an epoch and what came out, nothing of when, where or how often. */
export type LedgerEntry = {
  epoch: number;
  inputs: { experiment: string };
  outputs: CommitInput['outputs'] & { state: RunState };
  metrics: Metrics;
  notes: string[];
};
