import { join } from 'node:path';
import { readCases } from '../../evaluation/cases-file.ts';
import type { Evaluated } from '../../evaluation/paired.ts';
import { pairedView } from '../../evaluation/paired-view.ts';
import type { PairedView } from '../../evaluation/paired-view.ts';
import { pairedPage } from '../../report/evaluation-page.ts';
import { EvaluationFolder } from '../../runs/result-folders.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import type { EvaluationResults } from '../../types/evaluation-types.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, ExitCode } from '../context.ts';
import { plainTable } from './table.ts';
import { countText, wrapText } from './text.ts';

export const evaluationFolder = (id: string, { env }: CliContext): EvaluationFolder =>
  new EvaluationFolder(join(homeFolder(env), 'evaluations'), id);

/** Prints the scores; the exit code says failed if no suite could be evaluated. */
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
  context.print(`Page: ${folder.reportFile}`);
  return results.suites.every(({ skipped }) => skipped !== null) ? exitCodes.failed : exitCodes.ok;
}

const percentText = (share: number): string => (100 * share).toFixed(2);

/**
 * Every score of an evaluation with its interval, and below the table what was noted, skipped and cut off. A rate of no
 * cases is a dash.
 */
export function scoreTable({ suites, aggregates }: EvaluationResults): string {
  const table = plainTable(['score', '%', '95 % interval', 'of', 'note']);
  const notes: string[] = [];
  /** The number of a note; the same text has one. */
  const numberOf = (note: string): string => {
    if (!notes.includes(note)) notes.push(note);
    return `[${notes.indexOf(note) + 1}]`;
  };
  const evaluated = suites.flatMap((suite) => (suite.skipped === null ? [suite] : []));
  const scores = [...aggregates, ...evaluated.flatMap((suite) => suite.scores)];
  for (const { name, value, interval, of: total, note } of scores) {
    table.push([
      name,
      total === 0 ? '–' : percentText(value),
      interval === null || total === 0 ? '' : `${percentText(interval.low)} to ${percentText(interval.high)}`,
      countText(total),
      note === undefined ? '' : numberOf(note),
    ]);
  }
  const lines = evaluated.length === 0 ? [] : [table.toString()];
  lines.push(...notes.map((note) => wrapText(`${numberOf(note)} ${note}`, 4)));
  for (const { name, skipped } of suites)
    if (skipped !== null) lines.push(wrapText(`skipped ${name}: ${skipped}`, 4));
  for (const { name, cutOff, tooLong, questions } of evaluated) {
    if (cutOff > 0) lines.push(`${name}: ${cutOff} of ${questions} answers were cut off at the most tokens`);
    if (tooLong > 0)
      lines.push(
        `${name}: ${tooLong} of ${questions} questions, with an answer of the most tokens, were too long for the policy; they count as wrong`,
      );
  }
  return lines.join('\n');
}

/**
 * Prints two evaluations case by case: how often one is right and the other is not.
 * @param html where a page with every case is written too
 */
export async function showPaired(
  first: string,
  second: string,
  context: CliContext,
  html?: string,
): Promise<ExitCode> {
  const evaluations = [await readEvaluation(first, context), await readEvaluation(second, context)] as const;
  const view = pairedView(...evaluations);
  context.print(pairedTable(view));
  if (html === undefined) return exitCodes.ok;
  await atomicWrite(html, await pairedPage(view));
  context.print(`Page: ${html}`);
  return exitCodes.ok;
}

/** Two evaluations case by case, suite by suite: in few columns, whatever they are called. */
export function pairedTable({ first, second, suites }: PairedView): string {
  const table = plainTable([
    ...['suite', 'cases', 'both', 'first', 'second', 'none'],
    ...['points', '95 % interval', 'p'],
  ]);
  for (const { suite, cases, counts, difference, p } of suites) {
    table.push([
      suite,
      cases,
      counts.both,
      counts.onlyFirst,
      counts.onlySecond,
      counts.neither,
      percentText(difference.mean),
      `${percentText(difference.low)} to ${percentText(difference.high)}`,
      p.toPrecision(3),
    ]);
  }
  return [
    `first: ${first}`,
    `second: ${second}`,
    table.toString(),
    'Cases that both have right, the first alone, the second alone, and none of them; accuracy of the first minus',
    'that of the second, in points; p by the exact McNemar test.',
  ].join('\n');
}

/** The results of an evaluation that has ended. @throws CliError if there is none of that id */
export async function readResults(id: string, context: CliContext): Promise<EvaluationResults> {
  const folder = evaluationFolder(id, context);
  const results = await folder.readResults();
  if (results === undefined)
    throw new CliError(
      `evaluation: got ${JSON.stringify(id)}; there is none of that id that has ended (${folder.resultsFile})`,
      exitCodes.badInput,
    );
  return results;
}

async function readEvaluation(id: string, context: CliContext): Promise<Evaluated> {
  const results = await readResults(id, context);
  const folder = evaluationFolder(id, context);
  const text = await folder.readCases();
  if (text === undefined) throw new CliError(`${folder.casesFile} is missing`, exitCodes.badInput);
  const { cases, unreadable } = readCases(text);
  if (unreadable.length > 0)
    throw new CliError(
      `${folder.casesFile}: line ${unreadable[0]} is no case of an evaluation; write the file again: ` +
        `npx genenv rescore ${id}`,
      exitCodes.badInput,
    );
  return { results, cases };
}
