import type { FileRef } from '../store/references.ts';
import type { PhaseLimits, Run, RunOutcome, RunState } from './activity-types.ts';
import type { OutageReport } from './outage-types.ts';

/** One arm under one seed: an experiment of its own. */
export interface ArmRun {
  arm: string;
  seed: number;
  /** Id of the run and of its workflow. */
  id: string;
}

export interface ComparisonPlan {
  id: string;
  runs: ArmRun[];
  concurrency: number;
  /** The runs whose policies play each other. */
  crossPlay: ArmRun[];
  /** The runs whose agents are probed. */
  probes: ArmRun[];
}

export type ArmRunInput = { id: string; run: ArmRun };

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

export type CrossTasksInput = { run: Run; epoch: number; state: RunState; tasks: number };
export type CrossPlayInput = {
  run: Run;
  epoch: number;
  state: RunState;
  samples: number;
  tasks: { epoch: number; file: FileRef }[];
};

/** Simulator of one epoch against agent of another. */
export interface CrossPlayCell {
  simulator: number;
  agent: number;
  successes: number;
  attempts: number;
}
export type CrossPlayed = { cells: CrossPlayCell[]; file: FileRef };
export interface CrossPlayRecord {
  arm: string;
  seed: number;
  cells: CrossPlayCell[];
}

export type ProbeTasksInput = { run: Run; epoch: number; state: RunState; tasks: number };
export type ProbeAttemptsInput = {
  run: Run;
  epoch: number;
  state: RunState;
  tasks: FileRef;
  attempts: number;
};
/** `traces` has each attempt with its token ids, `outcomes` the result of each task. */
export type ProbeAttempted = { traces: FileRef; outcomes: FileRef };
export type MeasureGradientsInput = { run: Run; epoch: number; state: RunState } & ProbeAttempted;

/** One probed agent; `gradients` is null if its weights are not here. */
export interface ProbeRecord {
  arm: string;
  seed: number;
  epoch: number;
  outcomes: FileRef;
  gradients: FileRef | null;
}

export type SummarizeInput = { id: string; crossPlay: CrossPlayRecord[]; probes: ProbeRecord[] };
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
