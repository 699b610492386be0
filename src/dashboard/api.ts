/** What the dashboard's server answers, as JSON. Types only: the page's scripts import them. */
import type { EChartsOption } from 'echarts';
import type { EvaluationView } from '../evaluation/evaluation-view.ts';
import type { CaseChoices, ShownCase } from '../evaluation/shown-case.ts';
import type { Sample, SampleAnswer } from '../report/describe-sample.ts';
import type { RunView } from '../report/run-view.ts';
import type { TurnRecord } from '../types/records.ts';
import type { Progress } from '../types/activity-types.ts';

/** Everything in a home folder, a line each. */
export interface HomeView {
  home: string;
  runs: RunLine[];
  comparisons: ComparisonLine[];
  evaluations: { id: string; hasEnded: boolean; scores: { name: string; value: number }[] }[];
}

/** A comparison in the overview. */
export interface ComparisonLine {
  id: string;
  arms: number;
  seeds: number;
  isSummarized: boolean;
}

/** A run in the overview. */
export interface RunLine {
  id: string;
  arm: string;
  /** The comparison that it is a run of; null if none. */
  comparison: string | null;
  /** `running`, `finished`, `interrupted` and so on. */
  state: string;
  /** Whether a workflow works on it, or waits for somebody. */
  isActive: boolean;
  isFinished: boolean;
  /** Whether Temporal may know more of it a moment later, with no file changed. */
  mayChange: boolean;
  epoch: number;
  epochs: number;
  /** p̂ of the last epochs, oldest first. */
  success: (number | null)[];
  /** Held-out success of the last evaluation. */
  heldOut: number | null;
  heldOutCourse: (number | null)[];
  /** ISO time of the last commit. */
  updated: string | null;
  /** By the median duration of the last epochs; null unless it runs. */
  secondsLeft: number | null;
  /** What is under way, in words; empty unless it runs. */
  phase: string;
  /** What a person should look at. */
  attention: string[];
  /** Further attempts at phases, in the whole run. */
  retries: number;
}

/** A phase that is under way, as Temporal knows it. */
export interface PhaseAttempt {
  /** Name of the activity: `rollOut`. */
  phase: string;
  workflow: string;
  /** Counted from 1. */
  attempt: number;
  state: 'scheduled' | 'running' | 'cancelling';
  /** Why the attempt before failed; empty at the first. */
  lastFailure: string;
  /** ISO times; empty if unknown. */
  startedAt: string;
  heartbeatAt: string;
}

/** What only Temporal knows of a run. */
export interface LiveView {
  state: string;
  /** Whether a workflow works on it, or waits for somebody. */
  isActive: boolean;
  /** Only while it runs and its worker answers. */
  progress: Progress | null;
  phases: PhaseAttempt[];
  jobs: { job: string; state: string; log: string }[];
  /** Its page in Temporal's UI; null if none is known. */
  temporalUi: string | null;
  /** The command that resumes it; null while it runs, when it is finished, and while Temporal does not answer. */
  resumeCommand: string | null;
  /** Why what it does is not known. */
  problem?: string;
}

/** A run and its forks, with what changed their course. */
export interface FamilyMember {
  run: string;
  /** Epoch of the parent that it starts from; null for a run that is no fork. */
  fromEpoch: number | null;
  epoch: number;
  turns: { at: string; type: string; epoch: number | null; text: string }[];
  forks: FamilyMember[];
}

/** Settings that changed, and from which epoch on. */
export interface SettingsChange {
  fromEpoch: number;
  field: string;
  before: string;
  after: string;
}

export interface RunPage {
  view: RunView;
  live: LiveView;
  family: FamilyMember;
  changes: SettingsChange[];
}

/** A line of the table of an epoch's tasks. */
export interface TaskLine {
  id: string;
  /** Its place in the epoch, counted from 0. */
  index: number;
  kind: string;
  difficulty: number;
  source: string;
  excerpt: string;
  valid: boolean;
  reason: string;
  attempts: number;
  successes: number;
  rate: number | null;
  /** p̂ that the filter goes by: the task's own, or that of its batch of variations. */
  targetRate: number | null;
  keptForAgent: boolean | null;
  keptForSimulator: boolean | null;
}

/** A page of an epoch's tasks. */
export interface TasksPage {
  epoch: number;
  /** `ready`; `pending` while the index is made; `missing` if the records are pruned or damaged. */
  index: 'ready' | 'pending' | 'missing';
  /** Why the index is missing. */
  problem: string;
  /** All tasks of the epoch, and those that match the filters. */
  total: number;
  matching: number;
  /** Tasks that a page has at most. */
  pageSize: number;
  kinds: string[];
  reasons: string[];
  /** The last epoch that is committed. */
  lastEpoch: number;
  /** By what rule the difficulty filter keeps tasks, in words, and how many it kept. */
  rule: string;
  /** Whether the filter and the simulator's reward use p̂ of a batch of variations. */
  isPerBatch: boolean;
  /** Whether the run trains them at all. */
  isTrained: { agent: boolean; simulator: boolean };
  tasks: TaskLine[];
}

/** A token of an answer. */
export interface RolloutToken {
  text: string;
  /** Log-probability under the distribution sampled from, in nats. */
  logprob: number;
  /** False for tokens that the agent read, such as an observation. */
  isSampled: boolean;
}

/** An attempt at a task. */
export interface Rollout extends SampleAnswer {
  seed: number | null;
  policy: string;
  /** What the checker read as the answer. */
  answer: string;
  /** Why it was not solved, where the world says so. */
  failure: string;
  /** Null if the tokens' texts are not known. */
  tokenTexts: RolloutToken[] | null;
  /** Sum of the log-probabilities of the sampled tokens, in nats. */
  logprob: number | null;
  /** Only in worlds of several turns. */
  turns: TurnRecord[];
}

export interface TaskPage {
  epoch: number;
  index: number;
  total: number;
  sample: Sample;
  rollouts: Rollout[];
  gaps: string[];
}

export type CompareAxis = 'rollouts' | 'tokens' | 'seconds' | 'epochs';

/** Runs over each other. */
export interface ComparePage {
  runs: { id: string; arm: string; state: string }[];
  axis: CompareAxis;
  /** Whether a curve is a run, or the mean of an arm's runs. */
  by: 'run' | 'arm';
  figures: { id: string; title: string; caption: string; option: EChartsOption }[];
  /** The curves, each a run, or an arm with so many of them. */
  curves: { name: string; runs: number }[];
  /** What each curve has reached of each figure, where the shortest one of it ends. */
  reached: { title: string; at: number | null; values: string[] }[];
  /** Settings that differ: a value for each curve; of an arm whose runs differ, all of theirs. */
  differences: { field: string; values: string[] }[];
}

/** A run of an arm. */
export interface ArmRunLine {
  id: string;
  seed: number;
  /** As in the overview; `not started` if there is no such run yet. */
  state: string;
  isFinished: boolean;
  /** As in the overview. */
  mayChange: boolean;
  /** Committed and planned epochs. */
  epoch: number;
  epochs: number;
  /** Seconds left, by the median duration of the last epochs; null unless it runs. */
  secondsLeft: number | null;
}

/** A comparison's results. */
export interface ComparisonPage {
  id: string;
  /** Arms with their runs, in the order of the file. */
  arms: { arm: string; runs: ArmRunLine[] }[];
  seeds: number[];
  /** Seconds left for all its runs, at the pace of the active ones; null if none is active. */
  secondsLeft: number | null;
  /** Null before its end. */
  summary: {
    primary: {
      arm: string;
      against: string;
      measure: string;
      verdict: string;
      difference: string;
      p: string;
    }[];
    claims: { arm: string; rows: { claim: string; paper: string; ours: string; verdict: string }[] }[];
    notes: string[];
  } | null;
  hasReport: boolean;
}

/** An evaluation's figures, without its cases, which come a page at a time. */
export interface EvaluationPage {
  id: string;
  /** Null before its end. */
  view: EvaluationView | null;
  hasReport: boolean;
}

/** Some cases of an evaluation. */
export interface CasesPage {
  total: number;
  matching: number;
  /** Cases that a page has at most. */
  pageSize: number;
  /** What the filters can choose from, in all cases. */
  choices: CaseChoices;
  cases: ShownCase[];
}

/** What the server sends when files of runs have changed. */
export interface ChangeEvent {
  runs: string[];
  comparisons: string[];
}
