import type { Experiment } from '../config/experiment.ts';
import type { Retune } from '../runs/run-folder.ts';
import type { Ancestor } from '../runs/run-overview.ts';
import type { FileRef, FolderRef } from '../store/references.ts';
import type { Metrics } from '../types/run-state.ts';

/** One committed epoch: its ledger line, and how long it took. Epoch 0 is the preparation. */
export interface EpochRow {
  epoch: number;
  metrics: Metrics;
  /** Seconds by phase; empty if `metrics.jsonl` has no line for the epoch. */
  time: Record<string, number>;
  at: string | null;
  notes: string[];
  outputs: EpochOutputs;
  /** Hash of its ledger line; absent if the ledger has none. */
  line?: string | undefined;
}

/** The files of an epoch, as its ledger line names them. */
export interface EpochOutputs {
  tasks?: FileRef | null | undefined;
  traces?: FileRef[] | undefined;
  rewards?: FileRef | null | undefined;
  scores?: FileRef | null | undefined;
  decisions?: FileRef | null | undefined;
  verdicts?: FileRef[] | undefined;
  state?:
    | {
        /** The weights that the agent began with, whose tokenizer all its versions have. */
        initial_agent?: { checkpoint?: FolderRef | null | undefined } | undefined;
        /** Sampled so far. */
        tokens?: number | undefined;
      }
    | undefined;
}

export interface ReportEvent {
  /** ISO time; empty if the line has none. */
  at: string;
  type: string;
  epoch?: number | null | undefined;
  /** Id of the workflow whose activity it was. */
  workflow?: string | undefined;
  phase?: string | undefined;
  attempt?: number | undefined;
  reason?: string | undefined;
  note?: string | undefined;
  message?: string | undefined;
  /** How a run ended. */
  outcome?: string | undefined;
  /** What somebody asked for, and who. */
  request?: string | undefined;
  identity?: string | undefined;
  /** A training job that waited in a queue, and how long. */
  job?: string | undefined;
  seconds?: number | undefined;
}

export interface RunData {
  runId: string;
  /**
   * The settings in effect; null if the file is missing, unreadable or of another version: the report then
   * says so.
   */
  experiment: Experiment | null;
  /** The file's content, and its hash. */
  experimentFile: { experiment: unknown; sha256: string } | null;
  rows: EpochRow[];
  events: ReportEvent[];
  retunes: Retune[];
  /** What it was forked from, its parent first. */
  forkedFrom: Ancestor[];
  /** Hash of the ledger's last line. */
  head: string | null;
  /** What could not be read, in words. */
  gaps: string[];
}

/** Epochs in which tasks were written: all but the preparation. */
export const trainingRows = (rows: readonly EpochRow[]): EpochRow[] => rows.filter(({ epoch }) => epoch > 0);

/** One value an epoch; null if it was not measured. */
export const series = (rows: readonly EpochRow[], name: string): (number | null)[] =>
  rows.map(({ metrics }) => metrics[name] ?? null);

export const measuredValues = (values: readonly (number | null)[]): number[] =>
  values.filter((value) => value !== null);

/** Names below a prefix in any epoch (`env/kind/` -> `T`, `U`), in natural order. */
export function namesUnder(rows: readonly EpochRow[], prefix: string): string[] {
  const names = new Set<string>();
  for (const { metrics } of rows)
    for (const name of Object.keys(metrics))
      if (name.startsWith(prefix) && metrics[name] !== null) names.add(name.slice(prefix.length));
  return [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** Held-out success of an epoch, in [0, 1]: exact if it was measured so, else sampled; null if neither. */
export const heldOutOf = ({ metrics }: Pick<EpochRow, 'metrics'>): number | null =>
  metrics['eval/heldout_probability'] ?? metrics['eval/heldout'] ?? null;

/**
 * Mean probability of the reference answers, where it stands for held-out success in a comparison: it was measured,
 * and exact success was not. It has no sampling noise; another right answer counts as none.
 */
export const referenceAnswersOf = ({ metrics }: Pick<EpochRow, 'metrics'>): number | null =>
  typeof metrics['eval/heldout_probability'] === 'number'
    ? null
    : (metrics['eval/heldout_answer_probability'] ?? null);
