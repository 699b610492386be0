/** Comparison of two evaluations, case by case. */
import { boundedMeanInterval } from '../numerics/intervals.ts';
import type { IntervalEstimate } from '../numerics/intervals.ts';
import { mcNemar } from '../numerics/tests.ts';
import type { McNemar } from '../numerics/tests.ts';
import { canonicalJson } from '../store/canonical-json.ts';
import type { ReadySuite } from '../types/evaluation-inputs.ts';
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
  /** Accuracy of the first minus that of the second, with its 95 % interval over cases. */
  difference: IntervalEstimate;
}

/**
 * Two evaluations case by case, suite by suite, on the cases that both have.
 * @throws InvalidConfig if they share no suite, or judged one by other data or rules
 */
export function pairedEvaluations(first: Evaluated, second: Evaluated): PairedSuite[] {
  const paired: PairedSuite[] = [];
  for (const suite of first.results.suites) {
    const counterpart = second.results.suites.find(({ name }) => name === suite.name);
    if (suite.skipped !== null || counterpart?.skipped !== null) continue;
    const ids = [first.results.id, second.results.id] as const;
    requireSameCases(suite, counterpart, ids);
    requireSameRules(suite, counterpart, ids);
    const pairs = pairCases(suite.name, first.cases, second.cases);
    if (pairs.length === 0) continue;
    const difference = boundedMeanInterval(
      pairs.map((pair) => Number(pair.first) - Number(pair.second)),
      { low: -1, high: 1 },
      { seed: 0, resamples: 2000 },
    )!;
    paired.push({ suite: suite.name, cases: pairs.length, test: mcNemar(pairs), difference });
  }
  if (paired.length === 0)
    throw new InvalidConfig(`${first.results.id} and ${second.results.id} have no suite in common`);
  return paired;
}

function pairCases(
  suite: string,
  first: readonly CaseLine[],
  second: readonly CaseLine[],
): { first: boolean; second: boolean }[] {
  const ofSuite = (line: CaseLine): boolean => line.suite === suite;
  const secondCorrect = new Map(second.filter(ofSuite).map(({ id, correct }) => [id, correct]));
  return first.filter(ofSuite).flatMap(({ id, correct }) => {
    const counterpart = secondCorrect.get(id);
    return counterpart === undefined ? [] : [{ first: correct, second: counterpart }];
  });
}

type Judged = Pick<ReadySuite, 'name' | 'dataHash' | 'versions'>;
type EvaluationIds = readonly [first: string, second: string];

function requireSameCases(first: Judged, second: Judged, ids: EvaluationIds): void {
  if (first.dataHash === second.dataHash) return;
  const [firstHash, secondHash] = [first.dataHash.slice(0, 12), second.dataHash.slice(0, 12)];
  throw new InvalidConfig(
    `${first.name}: ${ids[0]} has the data ${firstHash}, ${ids[1]} ${secondHash}: not the same cases`,
  );
}

function requireSameRules(first: Judged, second: Judged, ids: EvaluationIds): void {
  const [firstRules, secondRules] = [canonicalJson(first.versions), canonicalJson(second.versions)];
  if (firstRules === secondRules) return;
  throw new InvalidConfig(
    `${first.name}: ${ids[0]} was judged by ${firstRules}, ${ids[1]} by ${secondRules}: ` +
      'judge the older one again with `genenv rescore`',
  );
}
