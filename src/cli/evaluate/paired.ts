import { readFile } from 'node:fs/promises';
import { pairedEvaluations } from '../../evaluation/paired.ts';
import type { Evaluated } from '../../evaluation/paired.ts';
import type { CaseLine } from '../../types/evaluation-types.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { plainTable } from '../show/table.ts';
import { evaluationFolder } from './show-scores.ts';

/** `genenv paired`: who is right where the other is not. */
export async function paired(first: string, second: string, context: CliContext): Promise<ExitCode> {
  const table = plainTable([
    'suite',
    'cases',
    'both',
    `only ${first}`,
    `only ${second}`,
    'neither',
    'difference, points',
    '95 % interval',
    'p (McNemar, exact)',
  ]);
  for (const { suite, cases, test, difference } of pairedEvaluations(
    await read(first, context),
    await read(second, context),
  )) {
    const points = (share: number): string => (100 * share).toFixed(2);
    table.push([
      suite,
      cases,
      test.both,
      test.onlyFirst,
      test.onlySecond,
      test.neither,
      points(difference.mean),
      `${points(difference.low)} to ${points(difference.high)}`,
      test.p.toPrecision(3),
    ]);
  }
  context.print(table.toString());
  return exitCodes.ok;
}

async function read(id: string, context: CliContext): Promise<Evaluated> {
  const folder = evaluationFolder(id, context);
  const results = await folder.readResults();
  if (results === undefined)
    throw new CliError(
      `evaluation: got ${JSON.stringify(id)}; there is none of that id that has ended (${folder.resultsFile})`,
      exitCodes.badInput,
    );
  const text = await readFile(folder.casesFile, 'utf8');
  return {
    results,
    cases: text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CaseLine])),
  };
}
