import { join } from 'node:path';
import { EvaluationFolder } from '../../runs/result-folders.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { scoreTable } from './score-table.ts';

export const evaluationFolder = (id: string, { env }: CliContext): EvaluationFolder =>
  new EvaluationFolder(join(homeFolder(env), 'evaluations'), id);

/** Prints the figures; fails where no suite could be evaluated. */
export async function showScores(id: string, context: CliContext): Promise<ExitCode> {
  const folder = evaluationFolder(id, context);
  const results = await folder.readResults();
  if (results === undefined) {
    context.print(`${id}: finished. Its files are with its workers, not in this home folder.`);
    return exitCodes.ok;
  }
  context.print(scoreTable(results));
  context.print(`Results: ${folder.resultsFile}`);
  context.print(`Cases: ${folder.casesFile}`);
  return results.suites.every(({ skipped }) => skipped !== null) ? exitCodes.failed : exitCodes.ok;
}
