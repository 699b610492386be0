import type { Answer, Question } from '../formats/chat-messages.ts';
import { boundedMeanInterval, wilsonInterval } from '../numerics/intervals.ts';

/** Benchmarks as the evaluation workflow sees them. */

/** One question of a suite. Its id is unique in the suite, and stays with every verdict. */
export interface Case {
  id: string;
}

/**
 * What an attempt at a case may do. Every answer and effect is on disk before the attempt continues, and a
 * repeated attempt gets the same ones, so it must be deterministic: the same questions in the same order for
 * the same answers.
 */
export interface AttemptTools {
  /** The policy that is evaluated. */
  ask: (question: Question) => Promise<Answer>;
  /** The judge, if the evaluation names one. */
  judge: ((question: Question) => Promise<Answer>) | null;
  /** Runs a non-deterministic effect (such as a search) once and keeps its result, which must be JSON. */
  once: <Result>(run: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  signal: AbortSignal;
}

/** The verdict on one case. */
export interface CaseVerdict {
  /** What paired comparisons count: the suite's main rule. */
  correct: boolean;
  /**
   * Every rule of the suite by its short name (`em`, `f1`), in [0, 1]; null if a rule does not apply to the
   * case.
   */
  scores: Readonly<Record<string, number | null>>;
  /** Why it is wrong, in the benchmark's terms; null if it is correct. */
  reason: string | null;
  /** Other data that the suite's figures need. JSON. */
  detail?: unknown;
}

/** A figure of an evaluation. */
export interface Score {
  /** `<benchmark>_<version>_<rule>_<setting>`, such as `bamboogle_em_closedbook`. */
  name: string;
  /** In [0, 1]. */
  value: number;
  /** Cases, or whatever else the denominator counts. */
  of: number; // eslint-disable-line id-denylist -- its name on disk
  /** The numerator of a rate; null for means and aggregates. */
  successes: number | null;
  /** 95 %: Wilson for rates, bootstrap over cases for means; null for aggregates. */
  interval: { low: number; high: number } | null;
  /** Caveats for comparisons, such as categories that did not run. */
  note?: string;
}

/** A suite whose data and engine are available. */
export interface OpenSuite<Item extends Case = Case, Response = unknown> {
  /** All cases, in the benchmark's order. */
  readonly cases: readonly Item[];
  /** sha256 of the data that determines questions and verdicts. */
  readonly dataHash: string;
  /**
   * Version of the prompts and of the responses kept: raised with every change to `attempt` or `gold`.
   * Answers under another version are not reused.
   */
  readonly promptVersion: string;
  /** Versions of what decides verdicts: the rules of this project, packages. Part of every result. */
  readonly versions: Readonly<Record<string, string>>;
  /**
   * Asks the policy and returns what will be judged: JSON, complete enough to judge again by other rules.
   * Model text never makes it throw.
   */
  attempt(item: Item, tools: AttemptTools): Promise<Response>;
  /**
   * What attempts need but judges do not (a key), if it is missing: the suite is then skipped, and only
   * existing answers are judged.
   */
  readonly cannotAsk?: string | undefined;
  /**
   * Maximum cases for one call of `judge`, for slow judges. After each call verdicts are stored and the
   * activity heartbeats.
   */
  readonly judgeBatchSize?: number;
  /** Verdicts in the order of the answered cases. Asks no model; depends only on its input and `versions`. */
  judge(answered: readonly { item: Item; response: Response }[], signal: AbortSignal): Promise<CaseVerdict[]>;
  /** The suite's figures over the verdicts of all its cases. */
  scores(verdicts: readonly { id: string; verdict: CaseVerdict }[]): Score[];
  /** The response of a policy that knows the answer; undefined for a case without one. */
  gold(item: Item): Response | undefined;
  close(): Promise<void>;
}

/** What is missing, and what to do about it. */
export interface Missing {
  missing: string;
}

/** How an evaluation asks. */
export interface SuiteSettings {
  /** Tools described in the prompt, or given natively to a server that takes them. */
  toolFormat: 'prompt' | 'native';
  /** A search endpoint, for suites that search. */
  search: { url: string; apiKeyEnv: string | null } | null;
}

/** What a worker provides to suites. */
export interface SuiteHost {
  /** Data that comes with this project: `<shipped>/<benchmark>/`. */
  shipped: string;
  /** Data that a user has downloaded: `<downloads>/<benchmark>/`. */
  downloads: string;
  /** The Python of an installed engine (`bfcl`, `alfworld`); null if it is not installed. */
  enginePython: (engine: string) => Promise<string | null>;
  /** A server that a file names, if the operator permits it: its address and key, or why not. */
  permitServer: (
    baseUrl: string,
    apiKeyEnv: string | null,
  ) => { baseUrl: string; apiKey: string | undefined } | { refused: string };
}

export interface Suite<Item extends Case = Case, Response = unknown> {
  /**
   * `<benchmark>_<version>_<category or split>`, with the setting if it has several: `bfcl_v4_simple_python`,
   * `bamboogle_closedbook`.
   */
  readonly name: string;
  /** One line for people. */
  readonly about: string;
  /**
   * Why the settings do not fit the suite (a search suite without an endpoint), naming the field; null if
   * they fit.
   */
  refuses(settings: SuiteSettings): string | null;
  /** @param signal ends the opening, with the engine that it has begun to start */
  open(
    host: SuiteHost,
    settings: SuiteSettings,
    signal?: AbortSignal,
  ): Promise<OpenSuite<Item, Response> | Missing>;
}

/** A benchmark: its suites, and its authors' figures over several of them. */
export interface Benchmark {
  readonly name: string;
  readonly suites: readonly Suite[];
  /** Figures over several suites, from the figures of each suite by its name; absent if there are none. */
  aggregate?(bySuite: ReadonlyMap<string, readonly Score[]>): Score[];
}

/** A figure over so many cases. */
export function figureScore({
  name,
  value,
  total,
  successes = null,
  interval = null,
  note,
}: Pick<Score, 'name' | 'value'> & {
  total: number;
  successes?: number | null;
  interval?: Score['interval'];
  note?: string | undefined;
}): Score {
  // eslint-disable-next-line id-denylist -- its name on disk
  return { name, value, of: total, successes, interval, ...(note !== undefined && { note }) };
}

/** A rate with its Wilson interval. Without cases it is 0 of 0, with the interval [0, 1]. */
export function rateScore(name: string, successes: number, total: number, note?: string): Score {
  const value = total === 0 ? 0 : successes / total;
  const interval = wilsonInterval({ successes, attempts: total });
  return figureScore({ name, value, total, successes, interval, note });
}

/** A mean over cases, whose values lie in [0, 1], with its bootstrap interval. */
export function meanScore(name: string, values: readonly number[], note?: string): Score {
  const estimate = boundedMeanInterval(values, { low: 0, high: 1 }, { seed: 0, resamples: 2000 });
  const interval = estimate && { low: estimate.low, high: estimate.high };
  return figureScore({ name, value: estimate?.mean ?? 0, total: values.length, interval, note });
}

/** The process of an engine ended or wrote an invalid answer. The request may be retried with a new one. */
export class SidecarFailed extends Error {
  override readonly name = 'SidecarFailed';
}
