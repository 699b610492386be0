/**
 * What people are shown of an evaluation, as JSON: made of `results.json` and `cases.jsonl` alone, without markup.
 * A page writes it once (`src/report/evaluation-page.ts`), and a server may send it as it is.
 */
import { fiveFigures } from '../benchmarks/mean-of-five.ts';
import { paperBenchmarks, paperTable } from '../benchmarks/paper-table.ts';
import type { Score } from '../benchmarks/suite.ts';
import { mean } from '../numerics/arithmetic.ts';
import { wilsonInterval } from '../numerics/intervals.ts';
import type { CaseLine } from '../types/evaluation-types.ts';
import { readCases } from './cases-file.ts';
import { parseResults } from './shown-results.ts';
import type { EvaluatedSuite, ShownResults, ShownScore } from './shown-results.ts';

/** A figure with its interval, in [0, 1]; null for what has no cases, and for intervals of aggregates. */
export interface FigureView {
  name: string;
  value: number | null;
  low: number | null;
  high: number | null;
  /** Cases, or whatever else the denominator counts. */
  total: number;
  note: string | null;
}

/** Why cases of a suite are wrong, most frequent first. */
export interface ReasonView {
  reason: string;
  cases: number;
}

/** A suite: a category of its benchmark. */
export interface SuiteView {
  name: string;
  /** Why it was not evaluated; null if it was. */
  skipped: string | null;
  /** Cases that are right by the suite's main rule, and their share; null if it was skipped. */
  correct: FigureView | null;
  figures: FigureView[];
  /** At most three, each cut to a line. */
  reasons: ReasonView[];
  /** How many others there are. */
  otherReasons: number;
  converted: number;
  questions: number;
  tokens: number;
  cutOff: number;
  tooLong: number;
}

/** A row of the paper's table, or the evaluation's own; percent, null for what was not evaluated. */
export interface PaperRowView {
  model: string;
  group: 'larger' | '7B' | 'own';
  percents: (number | null)[];
  /** The mean of the five, in percent. */
  mean: number | null;
}

export interface EvaluationView {
  id: string;
  /** Who answered, for people. */
  policy: string;
  /** Settings that answers follow from, by name. */
  settings: [name: string, value: string][];
  /** How often the answers were judged. */
  judged: number;
  /** Figures over several suites. */
  aggregates: FigureView[];
  suites: SuiteView[];
  paper: {
    benchmarks: readonly string[];
    rows: PaperRowView[];
    /** The figures that the evaluation's own row takes. */
    taken: string[];
  };
  cases: CaseLine[];
  /** Numbers of lines of `cases.jsonl` that are no cases. */
  unreadable: number[];
}

/**
 * The view of an evaluation that has ended.
 * @param results the content of `results.json`
 * @param casesFile the text of `cases.jsonl`
 * @throws InvalidConfig naming the field of `results.json` that is not what it should be
 */
export function evaluationView(results: unknown, casesFile: string): EvaluationView {
  const { id, judged, policy, evaluation, suites, aggregates } = parseResults(results);
  const { cases, unreadable } = readCases(casesFile);
  const bySuite = Map.groupBy(cases, ({ suite }) => suite);
  return {
    id,
    policy: policyText(policy),
    settings: settingTexts(evaluation, policy),
    judged,
    aggregates: aggregates.map(figureView),
    suites: suites.map((suite) => suiteView(suite, bySuite.get(suite.name) ?? [])),
    paper: paperView(id, suites),
    cases,
    unreadable,
  };
}

function policyText(policy: ShownResults['policy']): string {
  if (policy.type === 'gold') return 'the answer key itself';
  if (policy.type === 'served') return `${policy.model} at ${policy.baseUrl}`;
  return `the agent of ${policy.run} after epoch ${policy.epoch}`;
}

function settingTexts(
  { temperature, maxTokens, seed, toolFormat, limit, search, judge }: ShownResults['evaluation'],
  policy: ShownResults['policy'],
): [string, string][] {
  return [
    ['temperature', temperature === 0 ? '0 (greedy)' : String(temperature)],
    ['most new tokens in an answer', String(maxTokens)],
    ['seed', String(seed)],
    ['tools', toolFormat === 'native' ? 'passed to the server' : 'described in the prompt'],
    ...(policy.type === 'gold' ? [] : [['endpoint', policy.api] as [string, string]]),
    ['cases', limit === null ? 'all of each suite' : `the first ${limit} of each suite`],
    ['search', search?.url ?? 'none'],
    ['judge', judge?.model ?? 'none'],
  ];
}

const figureView = ({ name, value, interval, of: total, note: remark }: ShownScore): FigureView => ({
  name,
  value: total === 0 ? null : value,
  low: total === 0 ? null : (interval?.low ?? null),
  high: total === 0 ? null : (interval?.high ?? null),
  total,
  note: remark ?? null,
});

/** Reasons of a suite, and characters of one: some suites word them freely. */
const MAX_REASONS = 3;
const MAX_REASON_CHARS = 200;

function suiteView(suite: ShownResults['suites'][number], cases: readonly CaseLine[]): SuiteView {
  const { name, skipped } = suite;
  if (suite.skipped !== null)
    return {
      ...{ name, skipped, correct: null, figures: [], reasons: [], otherReasons: 0, converted: 0 },
      ...{ questions: 0, tokens: 0, cutOff: 0, tooLong: 0 },
    };
  const { correct, cases: attempts, scores, questions, tokens, cutOff, tooLong } = suite;
  const successes = Math.min(correct, attempts);
  const interval = wilsonInterval({ successes, attempts });
  const value = attempts === 0 ? 0 : successes / attempts;
  const byReason = Map.groupBy(
    cases.filter((line) => !line.correct),
    ({ reason }) => reason ?? 'no reason',
  );
  return {
    name,
    skipped: null,
    // eslint-disable-next-line id-denylist -- a field of results.json
    correct: figureView({ name: 'correct', value, of: attempts, successes, interval }),
    figures: scores.map(figureView),
    reasons: [...byReason]
      .map(([reason, lines]) => ({ reason: reason.slice(0, MAX_REASON_CHARS), cases: lines.length }))
      .sort((a, b) => b.cases - a.cases)
      .slice(0, MAX_REASONS),
    otherReasons: Math.max(0, byReason.size - MAX_REASONS),
    converted: cases.filter(({ converted }) => converted === true).length,
    ...{ questions, tokens, cutOff, tooLong },
  };
}

/** The paper's rows, then the evaluation's own: of suites whose cases were all evaluated. */
function paperView(id: string, suites: ShownResults['suites']): EvaluationView['paper'] {
  const complete = suites.filter((suite): suite is EvaluatedSuite => suite.skipped === null && suite.whole);
  const figures = Object.values(fiveFigures(complete.flatMap(({ scores }) => scores as Score[])));
  const percents = figures.map((figure) =>
    figure === undefined || figure.of === 0 ? null : 100 * figure.value,
  );
  const measured = percents.filter((percent) => percent !== null);
  return {
    benchmarks: paperBenchmarks,
    rows: [
      ...paperTable.map(({ average, ...row }) => ({ ...row, percents: [...row.percents], mean: average })),
      { model: id, group: 'own', percents, mean: measured.length < percents.length ? null : mean(measured) },
    ],
    taken: figures.flatMap((figure) => (figure === undefined ? [] : [figure.name])),
  };
}
