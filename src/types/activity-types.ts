import type { ServerUse } from '../config/policy-servers.ts';
import type { FileRef } from '../store/references.ts';
import type { PhaseInput, RunOutcome } from './activity-inputs.ts';
import type { ModelOutage } from './outage-types.ts';
import type {
  ForgettingBaseline,
  Metrics,
  PolicyVersion,
  Run,
  RunState,
  WorkflowSettings,
} from './run-state.ts';

/**
 * Results of activities, and what workflows show: references and small numbers, never rollouts. Types only,
 * so workflows may import them. Field names are on the wire: histories hold them.
 */

/** Where a run stands according to its files: what the next epoch starts from, and under which settings. */
export interface OpenedEpoch {
  run: Run;
  settings: WorkflowSettings;
  /** Last committed epoch (0 = preparation) whose artifacts are intact; null if there is none. */
  last: CommittedEpoch | null;
}
export interface Retuned {
  fromEpoch: number;
  /** All retunable settings then in effect. */
  settings: Record<string, number>;
}

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

export type WritePoolInput = PhaseInput;

/** Tokens of the servers that a run asks besides `serving`. */
export type ServerTokens = Partial<Record<ServerUse, { completionTokens: number; promptTokens: number }>>;

/**
 * `retried`: requests that failed and were sent again. It describes how the run went, not its result, so it
 * stays out of the ledger. `note` names tasks that were too long for the model; absent without any.
 * `promptTokens`, which the server read, is absent in what older versions recorded; `servers` in runs with one
 * server.
 */
export type Sampling = {
  file: FileRef;
  requests: number;
  tokens: number;
  promptTokens?: number;
  servers?: ServerTokens;
  retried: number;
  note?: string;
};
/** What the check of the initial policies found. */
export interface ColdStart {
  metrics: Metrics;
  note: string;
}

export type Rewards = { rewards: FileRef; scores: FileRef; metrics: Metrics };
/** A fixed data set, with metrics of what was dropped from it. */
export type WrittenPool = { pool: FileRef; tokens: number; metrics: Metrics };
/** `informative`: groups with a signal that the agent may use; absent without dynamic sampling. */
export type Filtered = { decisions: FileRef; metrics: Metrics; informative?: number };
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
  /** With dynamic sampling, of the rounds so far. */
  rolloutsPlanned: number;
  /** The round that is under way; absent without dynamic sampling. */
  round?: { number: number; max: number };
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
  /** Median duration of the last epochs. */
  epochSeconds: number | null;
  notes: string[];
}
