import { join } from 'node:path';
import { evaluationOfEpoch } from '../evaluation/evaluation-of-epoch.ts';
import type { Metrics } from '../contracts/phases.ts';
import { InvalidArtifact } from '../store/errors.ts';
import { EvaluationFolder } from '../store/evaluation-folder.ts';

export const benchmarkPrefix = 'benchmark/';

/** Main score of each suite that the agent was evaluated on after an epoch, as metrics; none where it was not. */
export async function benchmarkScores(
  home: string,
  run: string,
  epoch: number,
  line: string,
  gaps: string[],
): Promise<Metrics> {
  try {
    const results = await new EvaluationFolder(
      join(home, 'evaluations'),
      evaluationOfEpoch(run, epoch, line),
    ).readResults();
    const main = (results?.suites ?? []).flatMap((suite) =>
      suite.skipped === null ? suite.scores.slice(0, 1) : [],
    );
    return Object.fromEntries(main.map(({ name, value }) => [`${benchmarkPrefix}${name}`, value]));
  } catch (error) {
    if (!(error instanceof InvalidArtifact)) throw error;
    gaps.push(error.message);
    return {};
  }
}
