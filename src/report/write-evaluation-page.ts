import { evaluationView } from '../evaluation/evaluation-view.ts';
import type { EvaluationFolder } from '../runs/result-folders.ts';
import { evaluationPage } from './evaluation-page.ts';

/**
 * Writes the page of an evaluation that has ended into its folder, and gives its path; undefined if it has not.
 * @throws InvalidConfig naming the field of `results.json` that is not what it should be
 * @throws InvalidArtifact for a file that cannot be read, StoreUnavailable
 */
export async function writeEvaluationPage(folder: EvaluationFolder): Promise<string | undefined> {
  const results = await folder.readResults();
  const cases = await folder.readCases();
  if (results === undefined || cases === undefined) return undefined;
  await folder.writeFile(folder.reportFile, await evaluationPage(evaluationView(results, cases)));
  return folder.reportFile;
}
