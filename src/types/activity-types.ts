import type { Benchmarks } from '../config/method.ts';
import type { FieldValues } from '../config/retune.ts';
import type { SuccessCount } from '../numerics/intervals.ts';
import type { FileRef, FolderRef } from '../store/references.ts';
import type { ModelOutage } from './outage-types.ts';

/**
 * Inputs and results of activities: references and small numbers, never rollouts. Types only, so workflows
 * may import them. Field names are on the wire: histories hold them.
 */

/** Names as in TRL, plus env/*, pool/*, rollouts/*, eval/*. Deterministic, so no durations. */
export type Metrics = Record<string, number | null>;

export type PolicyRole = 'agent' | 'environment';

/** A policy with a version. Requests to a model server carry `name`, which is never reused. */
export interface PolicyVersion {
  name: string;
  /** null if only a server has the weights (a frozen policy behind an API). */
  checkpoint: FolderRef | null;
  trainer_state: FolderRef | null;
}

/** The anchor set, the best success on it so far, and the last agent that passed. */
export interface ForgettingBaseline {
  tasks: FileRef;
  best: SuccessCount;
  agent: PolicyVersion;
}

/** All that the next epoch depends on, besides the experiment itself. The ledger's last line holds it. */
export interface RunState {
  base_tasks: FileRef;
  held_out: FileRef;
  agent: PolicyVersion;
  environment: PolicyVersion;
  initial_agent: PolicyVersion;
  initial_environment: PolicyVersion;
  history: FileRef;
  train_pool: FileRef;
  environment_pool: FileRef;
  /** The fixed data set that all epochs draw from; absent in arms without one. */
  task_pool?: FileRef;
  /** What the agent must not forget; absent without that guard. */
  anchor?: ForgettingBaseline;
  tokens: number;
}

/** An experiment as its activities see it. */
export interface Run {
  id: string;
  /** The settings in effect: the run's experiment file with the retunes since. */
  experiment: FileRef;
}

/** What the workflow needs from the experiment file: counts and time limits, nothing of the method. */
export interface WorkflowSettings {
  name: string;
  arm: string;
  epochs: number;
  evaluateEvery: number;
  epochsPerRun: number;
  shards: { generate: number; rollOut: number; evaluate: number };
  trains: { agent: boolean; environment: boolean };
  /** Whether epoch 0 writes the data set that all epochs draw from. */
  writesPool?: true;
  /** Whether epoch 0 checks the initial policies; absent = not. */
  checksColdStart?: true;
  /** Epochs between two checks whether the agent has forgotten; absent = never. */
  gateEvery?: number;
  /** Evaluation of the agent on benchmarks; absent = none. */
  benchmarks?: Benchmarks;
  heartbeatSeconds: number;
  maxPhaseAttempts: number;
  /** How long a model server may be away; absent = without end. */
  maxOutageSeconds?: number;
  maxTokens: number | null;
  band: [number, number];
  rolloutsPerEpoch: number;
}

/** What limits a phase's activities. */
export type PhaseLimits = Pick<
  WorkflowSettings,
  'heartbeatSeconds' | 'maxPhaseAttempts' | 'maxOutageSeconds'
>;

export interface RunPlan {
  run: Run;
  settings: WorkflowSettings;
  /** Whether the worker could register the search attributes. */
  searchAttributes: boolean;
}

export interface OpenInput {
  id: string;
  /** The last committed epoch, as far as the caller knows; null if it knows of none. */
  // eslint-disable-next-line id-denylist -- a field on the wire
  known: number | null;
  /**
   * Whether to compare every byte that the next epoch depends on: when a run resumes, and after a failure.
   */
  thorough: boolean;
}

/** Where a run stands according to its files: what the next epoch starts from, and under which settings. */
export interface OpenedEpoch {
  run: Run;
  settings: WorkflowSettings;
  /** Last committed epoch (0 = preparation) whose artifacts are intact; null if there is none. */
  last: CommittedEpoch | null;
}
export type RetuneInput = { id: string; set: FieldValues; fromEpoch: number };
export interface Retuned {
  fromEpoch: number;
  /** All retunable settings then in effect. */
  settings: Record<string, number>;
}
export type RunOutcome = 'finished' | 'stopped' | 'token cap reached' | 'cancelled' | 'failed';
export type EndInput = { id: string; outcome: RunOutcome; epoch: number; reason?: string };

export interface CommittedEpoch {
  epoch: number;
  /** Hash of the ledger's line. */
  line: string;
  state: RunState;
  metrics: Metrics;
  notes: string[];
  /** For people, and not in the ledger; absent if there is nothing to say. */
  messages?: string[];
}

export interface ParseInput {
  id: string;
  /** The workflow's argument, not yet validated. */
  file: unknown;
}
export type WarmUpInput = { run: Run; role: PolicyRole };
export type PrepareInput = { run: Run; agent: PolicyVersion; environment: PolicyVersion };

/** Common to every activity of an epoch. */
export interface PhaseInput {
  run: Run;
  epoch: number;
  state: RunState;
}
export type WritePoolInput = PhaseInput;
export type ShardInput = PhaseInput & { shard: number; shards: number };

/**
 * `retried`: requests that failed and were sent again. It describes how the run went, not its result, so it
 * stays out of the ledger. `note` names tasks that were too long for the model; absent without any.
 */
export type Sampling = { file: FileRef; requests: number; tokens: number; retried: number; note?: string };
export type DrawTasksInput = PhaseInput & { generated: FileRef[] };
export type RollOutInput = ShardInput & { tasks: FileRef };
export type ComputeRewardsInput = PhaseInput & { tasks: FileRef; traces: FileRef[] };
export type FilterInput = PhaseInput & { scores: FileRef };
export type UpdatePoolsInput = PhaseInput & { tasks: FileRef; scores: FileRef; decisions: FileRef };
export type TrainAgentInput = PhaseInput & {
  traces: FileRef[];
  rewards: FileRef;
  scores: FileRef;
  decisions: FileRef;
};
export type TrainEnvironmentInput = PhaseInput & { environmentPool: FileRef; decisions: FileRef };
export type PublishInput = { run: Run; policy: PolicyVersion };
export type GateInput = PhaseInput & { agent: PolicyVersion };
export type EvaluateInput = ShardInput & { agent: PolicyVersion };
/** What the check of the initial policies found. */
export interface ColdStart {
  metrics: Metrics;
  note: string;
}

export type Rewards = { rewards: FileRef; scores: FileRef; metrics: Metrics };
/** A fixed data set, with metrics of what was dropped from it. */
export type WrittenPool = { pool: FileRef; tokens: number; metrics: Metrics };
export type Filtered = { decisions: FileRef; metrics: Metrics };
export type UpdatedPools = {
  history: FileRef;
  trainPool: FileRef;
  environmentPool: FileRef;
  metrics: Metrics;
};
/** `note` says why an update was skipped, reverted or stopped; null after an ordinary update. */
export type Trained = { policy: PolicyVersion; metrics: Metrics; note: string | null };

/** The agent to continue with: the new one, or the last that passed. */
export type Gated = {
  agent: PolicyVersion;
  anchor: ForgettingBaseline;
  metrics: Metrics;
  note: string | null;
};

export interface CommitInput {
  run: Run;
  epoch: number;
  outputs: {
    tasks: FileRef | null;
    traces: FileRef[];
    rewards: FileRef | null;
    scores: FileRef | null;
    decisions: FileRef | null;
    verdicts: FileRef[];
  };
  /** The state that the next epoch starts from. */
  next: RunState;
  metrics: Metrics[];
  notes: string[];
  /** Model requests that failed and were sent again. Stored next to the ledger, as the seconds are. */
  retried: number;
  /** Seconds by phase; stored next to the ledger, not in it. */
  seconds: Record<string, number>;
}
/**
 * Type of the failure that an activity reports when its worker was told to stop: nothing went wrong, and it
 * does not count as an attempt.
 */
export type WorkerStopped = 'WorkerStopped';

/** Type of the failure of a task whose encrypted payloads its worker cannot read (src/temporal/). */
export type PayloadUnreadable = 'PayloadUnreadable';

/** Result of the query `progress` of an experiment's workflow. */
export interface Progress {
  experiment: string;
  arm: string;
  status: 'preparing' | 'running' | 'paused' | 'stopping' | RunOutcome;
  /** The current epoch; 0 = preparation. */
  epoch: number;
  epochs: number;
  /** What is under way, and what it waits for: for people. */
  phase: string;
  /** The model server that the run waits for. */
  waiting: ModelOutage | null;
  rolloutsDone: number;
  rolloutsPlanned: number;
  /** p̂ of the last committed epoch. */
  successRate: number | null;
  /** p̂ of the last epochs, oldest first. */
  recentSuccessRates: number[];
  band: [number, number];
  /** Held-out success at the last evaluation. */
  heldOut: number | null;
  /** Share of the simulator's texts that are tasks, and of the agent's answers that have the right form. */
  validTasks: number | null;
  wellFormed: number | null;
  environmentReward: number | null;
  difficulty: number | null;
  /** Mean duration of the last epochs. */
  epochSeconds: number | null;
  notes: string[];
}
