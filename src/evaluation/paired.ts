import { pairedBootstrapInterval } from '../numerics/intervals.ts';
import type { IntervalEstimate } from '../numerics/intervals.ts';
import { mcNemar } from '../numerics/tests.ts';
import type { McNemar } from '../numerics/tests.ts';
import { canonicalJson } from '../store/canonical-json.ts';
import type { CaseLine, EvaluationResults } from '../types/evaluation-types.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';

export interface Evaluated {
  results: EvaluationResults;
  cases: readonly CaseLine[];
}

export interface PairedSuite {
  suite: string;
  cases: number;
  test: McNemar;
  /** Share right by the first minus by the second, with its 95 % bootstrap interval over cases. */
  difference: IntervalEstimate;
}

/**
 * Two evaluations case by case, suite by suite, on the cases that both have.
 * @throws InvalidConfig where they share no suite, or judged one by other data or rules
 */
export function pairedEvaluations(first: Evaluated, second: Evaluated): PairedSuite[] {
  const paired = first.results.suites.flatMap((one): PairedSuite[] => {
    const other = second.results.suites.find(({ name }) => name === one.name);
    if (one.skipped !== null || other?.skipped !== null) return [];
    if (one.dataHash !== other.dataHash)
      throw new InvalidConfig(
        `${one.name}: ${first.results.id} has the data ${one.dataHash.slice(0, 12)}, ${second.results.id} ${other.dataHash.slice(0, 12)}: not the same cases`,
      );
    const [rules, otherRules] = [canonicalJson(one.versions), canonicalJson(other.versions)];
    if (rules !== otherRules)
      throw new InvalidConfig(
        `${one.name}: ${first.results.id} was judged by ${rules}, ${second.results.id} by ${otherRules}: judge the older one again with \`genenv rescore\``,
      );
    const others = new Map(
      second.cases.filter(({ suite }) => suite === one.name).map(({ id, correct }) => [id, correct]),
    );
    const pairs = first.cases.flatMap(({ suite, id, correct }) =>
      suite === one.name && others.has(id) ? [{ first: correct, second: others.get(id)! }] : [],
    );
    if (pairs.length === 0) return [];
    return [
      {
        suite: one.name,
        cases: pairs.length,
        test: mcNemar(pairs),
        difference: pairedBootstrapInterval(
          pairs.map((pair) => Number(pair.first)),
          pairs.map((pair) => Number(pair.second)),
          { seed: 0, resamples: 2000 },
        )!,
      },
    ];
  });
  if (paired.length === 0)
    throw new InvalidConfig(`${first.results.id} and ${second.results.id} have no suite in common`);
  return paired;
}
