import type { AgentHistory } from '../coevolution/agent-history.ts';
import type { OracleState } from '../coevolution/arms/difficulty-oracle.ts';
import type { WindowState } from '../coevolution/arms/difficulty-window.ts';
import type { ObservedOutcome } from '../coevolution/arms/selection.ts';
import type { ProgressState } from '../coevolution/diagnostics.ts';
import type { Latents, TaskSpec } from '../worlds/world.ts';

/**
 * Records of the artifacts (JSON Lines). Field names are snake_case, as Python and `datasets` read them; ids
 * are relative (`epoch-0012/task-05/rollout-03`).
 *
 * The order of an epoch's records is a contract, since files are read in lockstep (`zipRecords` checks the
 * ids). It follows from indexes, never from which answer came first:
 * - tasks: by index. The number that ends a task's id is its place in the file, counted from 0 (`taskIndex`).
 * - scores and decisions: one for each task, in the order of the tasks.
 * - traces: the rollouts of one task by one role (a group) are contiguous. Where there are several files,
 *   their order is that of the epoch's `traces`.
 * - rewards: one for each trace, in the order of the traces.
 */

/** One completion of a policy, exactly as it was sampled. */
export interface Sampled {
  policy_version: string;
  /**
   * The seed that was sent with the prompt. vLLM draws sample j of it with the seed + j, the embedded server
   * with the prompt's place in its request too.
   */
  seed: number;
  temperature: number;
  prompt_token_ids: number[];
  token_ids: number[];
  /** Log-probabilities of `token_ids` under the distribution sampled from. */
  logprobs: number[];
  text: string;
  finish_reason: string;
  /**
   * Over `token_ids`, if there were several turns: 1 = sampled, 0 = read by the agent (its log-probability
   * is 0). Absent if all were sampled.
   */
  mask?: number[];
  /** Of the answer and the task's reference, by their embeddings; absent if none were asked for. */
  similarity?: number;
}

/** One turn of a rollout: the agent's action, and the observation. */
export interface TurnRecord {
  seed: number;
  action: string;
  /** As the simulator worded it; null if nobody was asked, or the rollout was over. */
  wording: string | null;
  /** What the agent read: the wording, or the world's own words if that was not true. */
  observation: string | null;
  /** False if the wording contradicted what happened, and was replaced. */
  consistent: boolean;
}

/** Where a task comes from: written this epoch, an earlier epoch's, or the base set. */
export type TaskSource = 'new' | 'history' | 'base';

/** A base task, a task of D_train's history, or of a data set written once. */
export interface SeedTaskRecord {
  id: string;
  spec: TaskSpec;
}

/** A task that code drew, and how often the initial agent solved it. */
export interface MeasuredTaskRecord extends SeedTaskRecord {
  difficulty: number;
  attempts: number;
  /** In the attempts that tasks are chosen by. */
  screening_successes: number;
  /** In as many fresh attempts, by which no task is chosen. */
  fresh_successes: number;
}

/** State that is folded from epoch to epoch, next to the pools. */
export interface HistoryRecord {
  agent: AgentHistory;
  progress: ProgressState;
  /** Outcomes of recent tasks, for the predictor of the arm `selection`; absent in other arms. */
  outcomes?: ObservedOutcome[];
  /** State of the arm `window`; absent in other arms. */
  window?: WindowState;
  /** State of the arm `oracle`; absent in other arms. */
  oracle?: OracleState;
  /** Epochs in a row in which the simulator had nothing to learn from; absent if nothing acts on it. */
  starved?: number;
}

export interface TaskRecord {
  id: string;
  source: TaskSource;
  /** The batch of variations of one seed prompt (GenEnv, 2.2). */
  batch_id: string;
  /** What the simulator was told: agent history and seed task. Empty for base tasks. */
  context: string;
  /** The agent's recent success that the context reports; null if not measured yet, and for base tasks. */
  history_success: number | null;
  /** `current`, or `initial` if the frozen initial simulator wrote it. */
  simulator: 'current' | 'initial' | 'none';
  valid: boolean;
  /** Why the simulator's text is not a task; empty if it is. */
  invalid_reason: string;
  /** Occurrences of the same task in this epoch before this one. */
  repeats: number;
  /** Times that the simulator was asked again before this text; absent in worlds that take the first. */
  repairs?: number;
  /** Whether a model worded it, and not code; absent in worlds that ask for no words. */
  worded?: boolean;
  /** The vote on the simulator's own label; absent in worlds without one. */
  label?: LabelRecord;
  spec: TaskSpec | null;
  prompt: string;
  kind: string;
  difficulty: number;
  latents: Latents;
  sampled: Sampled | null;
}

/** The frozen initial agent's vote on a label: `votes` is 0 if none were needed. */
export interface LabelRecord {
  votes: number;
  agreeing: number;
  /** Most votes agree on another answer. */
  disputed: boolean;
}

export interface TraceRecord {
  id: string;
  task_id: string;
  /** `agent` is trained on; `frozen` is the initial agent, a guard. */
  role: 'agent' | 'frozen';
  sampled: Sampled;
  /** Only in worlds of several turns, where `sampled.text` is the actions, one a line. */
  turns?: TurnRecord[];
  /**
   * Similarities of random answers to the task and its reference, by their embeddings, in the agent's first
   * rollout of it; null for an answer without one. Absent if no embeddings are asked for.
   */
  random_similarities?: (number | null)[];
}

export interface RewardRecord {
  id: string;
  task_id: string;
  role: 'agent' | 'frozen';
  /** In [0, 1]; the checker's verdict on the answer. */
  reward: number;
  /** The same verdict computed a second time: a difference betrays a checker that is not deterministic. */
  second_reward: number;
  /** Whether the answer parses as a call. */
  well_formed: boolean;
  /** Of the reward, and of the format reward where there is one. */
  advantage: number;
  answer: string;
  /** Why it is not solved: in worlds that tell their simulator, and if the task's prompt was too long. */
  failure?: string;
}

export interface ScoreRecord {
  task_id: string;
  source: TaskSource;
  kind: string;
  difficulty: number;
  valid: boolean;
  attempts: number;
  successes: number;
  /** p̂ of the task; null if nothing was measured. */
  success_rate: number | null;
  /** p̂ that the simulator is rewarded for: the task's own or its batch's. */
  target_rate: number | null;
  frozen_rate: number | null;
  random_rate: number | null;
  informative: boolean;
  /** Two verdicts on one of its answers differed; absent if they never did. */
  verdicts_differ?: true;
  /** Why its attempts fail, most often; absent if one was solved, and in worlds that do not say. */
  failure?: string;
  env_reward: number | null;
  /** Factor of the guards on the regression weight, in [0, 1]. */
  guard: number;
}

export interface FilterRecord {
  task_id: string;
  kept_for_agent: boolean;
  kept_for_environment: boolean;
  reason: string;
}

/** A record of D_env: context -> task, with what it earned. */
export interface EnvironmentPoolRecord {
  id: string;
  epoch: number;
  /** The task itself: equal signatures are repeats. */
  signature: string;
  kind: string;
  /** The recent success that its context reported. */
  history_success: number | null;
  env_reward: number;
  guard: number;
  sampled: Sampled;
}

export interface VerdictRecord {
  task_id: string;
  kind: string;
  difficulty: number;
  sample: number;
  reward: number;
  /** Whether it counts as solved; absent if that is a reward of 1. */
  solved?: boolean;
  /** Of the right answer, by the agent's own distribution; only with `evaluation.exact`, and in sample 0. */
  probability?: number;
  /** Of the reference answer and its end, in nats; only with `evaluation.logprob`, in sample 0. */
  logprob?: number;
  answer: string;
  /** Why there is no answer; absent if there is one. */
  reason?: 'prompt_too_long';
  policy_version: string;
  seed: number;
}

/** One attempt of a probed agent. */
export interface ProbeTraceRecord {
  task_id: string;
  attempt: number;
  reward: number;
  sampled: Sampled;
}

/** A probed task, and whether each attempt at it succeeded (1) or not (0), in the order of the attempts. */
export interface ProbeOutcomeRecord {
  task_id: string;
  spec: TaskSpec;
  difficulty: number;
  solved: (0 | 1)[];
}

/** Gradient signal of a probed task, means over `rollouts` of the second half of its attempts. */
export interface GradientRecord {
  task_id: string;
  /** p̂ over the first half of the attempts. */
  success_rate: number;
  rollouts: number;
  /** ‖(r - p̂) ∇ log π(y|x)‖², over the trainable weights. */
  squared_norm: number;
  /** ‖∇ log π(y|x)‖². */
  squared_score: number;
  /** Sampled tokens of an answer. */
  tokens: number;
}
