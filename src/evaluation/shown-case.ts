/** A case as people are shown it, of one evaluation or of two, and the filters by which they find it. */
import type { CaseLine } from '../types/evaluation-types.ts';
import type { PairedView } from './paired-view.ts';

/** An answer to a case. */
export interface ShownAnswer {
  /** Whose it is. */
  title: string;
  correct: boolean;
  /** Why it is wrong; empty if it is not. */
  reason: string;
  converted: boolean;
  scores: [name: string, value: string][];
  text: string;
}

/** A case with the answer of one evaluation, or of two. */
export interface ShownCase {
  suite: string;
  id: string;
  /** What the filter calls it, such as `wrong`. */
  outcome: string;
  tone: 'good' | 'bad' | 'warn';
  question: string;
  gold: string;
  answers: ShownAnswer[];
}

/** A case of one evaluation. */
export const shownCase = (line: CaseLine): ShownCase => ({
  suite: line.suite,
  id: line.id,
  outcome: line.correct ? 'right' : 'wrong',
  tone: line.correct ? 'good' : 'bad',
  question: line.question ?? '',
  gold: line.gold ?? '',
  answers: [shownAnswer(line, 'The answer')],
});

/** The cases that two evaluations both have. */
export const pairedCases = (view: PairedView): ShownCase[] =>
  view.cases.map(({ first, second }) => ({
    suite: first.suite,
    id: first.id,
    ...pairOutcome(first.correct, second.correct, view),
    question: first.question ?? second.question ?? '',
    gold: first.gold ?? second.gold ?? '',
    answers: [shownAnswer(first, view.first), shownAnswer(second, view.second)],
  }));

function pairOutcome(
  isFirstRight: boolean,
  isSecondRight: boolean,
  { first, second }: Pick<PairedView, 'first' | 'second'>,
): Pick<ShownCase, 'outcome' | 'tone'> {
  if (isFirstRight && isSecondRight) return { outcome: 'both right', tone: 'good' };
  if (isFirstRight) return { outcome: `only ${first} right`, tone: 'warn' };
  if (isSecondRight) return { outcome: `only ${second} right`, tone: 'warn' };
  return { outcome: 'both wrong', tone: 'bad' };
}

function shownAnswer(line: CaseLine, title: string): ShownAnswer {
  const { correct, reason, converted, scores, answer } = line;
  return {
    title,
    correct,
    reason: reason ?? '',
    converted: converted === true,
    scores: Object.entries(scores).map(([name, value]) => [
      name,
      value === null ? '–' : String(Number(value.toFixed(3))),
    ]),
    text: answer ?? '',
  };
}

/** Empty fields filter nothing. */
export interface CaseFilters {
  suite: string;
  outcome: string;
  /** Of any of its answers. */
  reason: string;
  /** A part of its id, question, key, answers or reasons, in any case. */
  text: string;
}

export const noCaseFilters: CaseFilters = { suite: '', outcome: '', reason: '', text: '' };

export function matchesCase(shown: ShownCase, { suite, outcome, reason, text }: CaseFilters): boolean {
  const needle = text.trim().toLowerCase();
  return (
    (suite === '' || shown.suite === suite) &&
    (outcome === '' || shown.outcome === outcome) &&
    (reason === '' || shown.answers.some((answer) => answer.reason === reason)) &&
    (needle === '' || textOf(shown).includes(needle))
  );
}

const texts = new WeakMap<ShownCase, string>();

/** Thousands of cases are looked through at each key that is pressed. */
function textOf(shown: ShownCase): string {
  const cached = texts.get(shown);
  if (cached !== undefined) return cached;
  const text = [
    ...[shown.id, shown.question, shown.gold],
    ...shown.answers.flatMap((answer) => [answer.text, answer.reason]),
  ]
    .join('\n')
    .toLowerCase();
  texts.set(shown, text);
  return text;
}

/** What a filter can choose from. */
export interface CaseChoices {
  suites: string[];
  outcomes: string[];
  reasons: string[];
}

/** Reasons to choose from, and the longest: some suites word them freely. */
const MAX_REASONS = 200;
const MAX_REASON_CHARS = 200;

export function caseChoices(cases: readonly ShownCase[]): CaseChoices {
  const unique = (values: Iterable<string>): string[] =>
    [...new Set(values)].filter((value) => value !== '').sort();
  return {
    suites: unique(cases.map(({ suite }) => suite)),
    outcomes: unique(cases.map(({ outcome }) => outcome)),
    reasons: unique(cases.flatMap(({ answers }) => answers.map(({ reason }) => reason)))
      .filter((reason) => reason.length <= MAX_REASON_CHARS)
      .slice(0, MAX_REASONS),
  };
}
