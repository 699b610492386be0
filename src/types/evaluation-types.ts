import type { Score } from '../benchmarks/suite.ts';
import type { Evaluation } from '../config/evaluation.ts';
import type { ServingSettings } from '../config/serving.ts';
import type { Question } from '../formats/chat-messages.ts';
import type { FileRef } from '../store/references.ts';
import type { CaseShard, PlannedSuite, ReadySuite, ShardRecord } from './evaluation-inputs.ts';
import type { ModelOutage } from './outage-types.ts';
import type { PolicyVersion } from './run-state.ts';

/** Parts of an evaluation, and results of its activities. Types only, so workflows may import them. */

/** The policy under test, resolved once: later epochs of its run do not change what is evaluated. */
export type EvaluatedPolicy =
  | { type: 'gold' }
  | { type: 'served'; baseUrl: string; model: string; apiKeyEnv: string | null; api: 'chat' | 'completions' }
  | {
      type: 'run';
      run: string;
      epoch: number;
      version: PolicyVersion;
      serving: ServingSettings;
      /** Longest that a request of the run may take, which its server may need; absent in older records. */
      requestTimeoutSeconds?: number;
      api: 'chat' | 'completions';
    };

export interface EvaluationPlan {
  id: string;
  /** The evaluation and its policy, as the activities read them. */
  evaluation: FileRef;
  /** Hash of the settings that answers and verdicts depend on: not of those for throughput. */
  identity: string;
  suites: PlannedSuite[];
  /** Which shard is which: cases `from` to before `to` of a suite. */
  shards: CaseShard[];
  concurrency: number;
  heartbeatSeconds: number;
  maxAttempts: number;
  /** How long a model server may be away; absent = without end. */
  maxOutageSeconds?: number;
  /** How often the answers were judged before. */
  judged: number;
}

export interface AnswerRecord {
  id: string;
  response: unknown;
  /** The first question of the case, whole: the prompt. Absent if nobody was asked. */
  question?: Question;
}

/** `evaluations/<id>/results.json`, without times and paths: equal answers give equal bytes. */
export interface EvaluationResults {
  id: string;
  evaluation: Evaluation;
  policy: EvaluatedPolicy;
  /** What the activities read; what `rescore` starts from. */
  record: FileRef;
  identity: string;
  suites: SuiteResults[];
  /** Figures over several suites. */
  aggregates: Score[];
  shards: ShardRecord[];
  /** How often the answers were judged: 1 unless it was scored again. */
  judged: number;
}

export type SuiteResults =
  | { name: string; skipped: string }
  | (ReadySuite & {
      /** All cases of the suite were evaluated. */
      // eslint-disable-next-line id-denylist -- a field of results.json
      whole: boolean;
      scores: Score[];
      prompts: string | null;
      correct: number;
      questions: number;
      tokens: number;
      cutOff: number;
      tooLong: number;
    });

/** A line of `cases.jsonl`. */
export interface CaseLine {
  suite: string;
  id: string;
  correct: boolean;
  scores: Readonly<Record<string, number | null>>;
  reason: string | null;
  /** BFCL: the official decoder would have refused the answer, or one of several. Absent if not. */
  converted?: true;
  /** What the policy was asked first, cut; absent if nobody was asked, and in files of earlier versions. */
  question?: string;
  /** What the policy wrote, its first 2,000 characters; absent in files of earlier versions. */
  answer?: string;
  /** What the answer key would have answered, cut alike; absent for a case without a key. */
  gold?: string;
}

/** Where the evaluation's files are, relative to the home folder. */
export type Scored = {
  results: string;
  cases: string;
  scores: Score[];
  skipped: { name: string; reason: string }[];
};

export interface EvaluationProgress {
  evaluation: string;
  status: 'preparing' | 'asking' | 'judging' | 'scoring' | 'finished' | 'cancelled' | 'failed';
  shards: number;
  answered: number;
  judged: number;
  skipped: string[];
  /** The model server that it waits for. */
  waiting: ModelOutage | null;
}
