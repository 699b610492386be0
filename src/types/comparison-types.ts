import type { FileRef } from '../store/references.ts';
import type { RunOutcome } from './activity-inputs.ts';
import type { ArmRun, CrossPlayCell } from './comparison-inputs.ts';
import type { PhaseLimits, Run, RunState } from './run-state.ts';
import type { OutageReport } from './outage-types.ts';

export interface ComparisonPlan {
  id: string;
  runs: ArmRun[];
  concurrency: number;
  /** The runs whose policies play each other. */
  crossPlay: ArmRun[];
  /** The runs whose agents are probed. */
  probes: ArmRun[];
}

/** A finished run at some of its committed epochs. */
export interface RunCheckpoints {
  run: Run;
  settings: PhaseLimits;
  checkpoints: { epoch: number; state: RunState }[];
}
/** A run whose policies play each other. */
export type CrossPlayPlan = RunCheckpoints & { tasks: number; samples: number };
/** A run whose agents are probed. */
export type ProbePlan = RunCheckpoints & { tasks: number; attempts: number };

export type CrossPlayed = { cells: CrossPlayCell[]; file: FileRef };

/** `traces` has each attempt with its token ids, `outcomes` the result of each task. */
export type ProbeAttempted = { traces: FileRef; outcomes: FileRef };

/** Where the comparison's files are, relative to the home folder. */
export type Summarized = { summary: string; results: string; report: string };

export interface ComparisonProgress {
  comparison: string;
  status:
    | 'preparing'
    | 'running'
    | 'cross-play'
    | 'probes'
    | 'summary'
    | Extract<RunOutcome, 'finished' | 'cancelled' | 'failed'>;
  runs: number;
  done: number;
  running: string[];
  failed: { id: string; reason: string }[];
  /** What it, and runs under way, wait for. */
  waiting: OutageReport[];
}
