import type { FileRef } from '../store/references.ts';
import type { CommitInput } from '../types/activity-inputs.ts';
import type { Metrics, RunState } from '../types/run-state.ts';
import { ledgerLineSchema } from './file-schemas.ts';
import type { OpenedRun, RunFolder } from './run-folder.ts';

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

/**
 * The run with its ledger, whose lines are checked when they are read; undefined if there is no such run.
 * @throws InvalidArtifact naming file and field
 */
export const openRun = (folder: RunFolder): Promise<OpenedRun<LedgerEntry> | undefined> =>
  folder.open<LedgerEntry>(ledgerLineSchema);
