/** What the evaluations of a run's agent on benchmarks gave, as metrics of its epochs. */
import type { EvaluationFolder } from './result-folders.ts';
import type { Metrics } from '../types/run-state.ts';

export const benchmarkPrefix = 'benchmark/';

/**
 * The main score of each suite of an evaluation by `benchmark/<suite>`; empty if there is no evaluation.
 * @throws InvalidArtifact naming the field of damaged results
 */
export async function benchmarkScores(folder: EvaluationFolder): Promise<Metrics> {
  const results = await folder.readResults();
  const mainScores = (results?.suites ?? []).flatMap((suite) =>
    suite.skipped === null ? suite.scores.slice(0, 1) : [],
  );
  return Object.fromEntries(mainScores.map(({ name, value }) => [`${benchmarkPrefix}${name}`, value]));
}
