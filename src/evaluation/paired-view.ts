/** What people are shown of two evaluations side by side, as JSON, without markup. */
import type { IntervalEstimate } from '../numerics/intervals.ts';
import type { McNemar } from '../numerics/tests.ts';
import type { CaseLine } from '../types/evaluation-types.ts';
import { pairedEvaluations } from './paired.ts';
import type { Evaluated } from './paired.ts';

/** A suite that both evaluations have, by the same rules. */
export interface PairedSuiteView {
  suite: string;
  cases: number;
  counts: Pick<McNemar, 'both' | 'onlyFirst' | 'onlySecond' | 'neither'>;
  /** Accuracy of the first minus that of the second, with its 95 % interval. */
  difference: IntervalEstimate;
  /** Of the exact McNemar test. */
  p: number;
}

export interface PairedView {
  first: string;
  second: string;
  suites: PairedSuiteView[];
  /** Cases that both have, in the order of the first. */
  cases: { first: CaseLine; second: CaseLine }[];
}

/** @throws InvalidConfig as `pairedEvaluations` does */
export function pairedView(first: Evaluated, second: Evaluated): PairedView {
  const suites = pairedEvaluations(first, second);
  const paired = new Set(suites.map(({ suite }) => suite));
  const keyOf = ({ suite, id }: CaseLine): string => JSON.stringify([suite, id]);
  const counterparts = new Map(second.cases.map((line) => [keyOf(line), line]));
  return {
    first: first.results.id,
    second: second.results.id,
    suites: suites.map(({ suite, cases, test, difference }) => {
      const { both, onlyFirst, onlySecond, neither, p } = test;
      return { suite, cases, counts: { both, onlyFirst, onlySecond, neither }, difference, p };
    }),
    cases: first.cases.flatMap((line) => {
      const counterpart = paired.has(line.suite) ? counterparts.get(keyOf(line)) : undefined;
      return counterpart === undefined ? [] : [{ first: line, second: counterpart }];
    }),
  };
}
