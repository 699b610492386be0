import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { curvesSvg } from '../../comparison/curves-svg.ts';
import { primaryVerdictText } from '../../comparison/primary-markdown.ts';
import { runMetrics } from '../../comparison/run-metrics.ts';
import { metricCell } from '../../comparison/metric-cell.ts';
import { differenceText, pText } from '../../comparison/seed-estimates.ts';
import type { PrimaryResult } from '../../comparison/primary.ts';
import type { Summary } from '../../comparison/summary.ts';
import { ComparisonFolder } from '../../runs/result-folders.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import { exitCodes, homeFolder } from '../context.ts';
import type { CliContext, ExitCode } from '../context.ts';
import { writeArmCosts } from './comparison-costs.ts';
import { plainTable } from './table.ts';

/**
 * Prints the results of a comparison that has ended.
 * @param docs document that they are written to as well
 */
export async function showComparison(
  id: string,
  docs: string | undefined,
  context: CliContext,
): Promise<ExitCode> {
  const folder = new ComparisonFolder(join(homeFolder(context.env), 'comparisons'), id);
  const results = await folder.readText(folder.resultsFile);
  const summaryText = await folder.readText(folder.summaryFile);
  if (results === undefined || summaryText === undefined) {
    context.print(`${id}: finished. Its files are with its workers, not in this home folder.`);
    return exitCodes.ok;
  }
  const summary = JSON.parse(summaryText) as Summary;
  context.print(resultsTable(summary));
  if (docs !== undefined) {
    await writeResultsDocument(docs, results, summaryText);
    await atomicWrite(curvesFileFor(docs), curvesSvg(summary));
    const runs = await folder.readText(folder.runsFile);
    if (runs !== undefined) await atomicWrite(runsFileFor(docs), runs);
  }
  context.print(`Results: ${docs ?? folder.resultsFile}`);
  context.print(`Report: ${folder.reportFile}`);
  const costs = await writeArmCosts(id, context);
  if (costs !== undefined) context.print(`Costs: ${costs}`);
  return exitCodes.ok;
}

/** The results of a comparison in a few columns; the results document and the report have the rest. */
function resultsTable({ primary, arms, against, baseline, threshold, notes }: Summary): string {
  const table = plainTable([
    'arm',
    'held-out, mean over the run',
    `minus ${baseline}`,
    'held-out at the end',
    `rollouts to ${threshold}`,
    'in the band',
  ]);
  const differenceByArm = new Map(against[0]?.rows.map(({ arm, differences }) => [arm, differences.area]));
  for (const summary of arms)
    table.push([
      summary.arm,
      metricCell(summary, 'area'),
      differenceText(differenceByArm.get(summary.arm) ?? null).replaceAll('**', ''),
      ...(['finalHeldOut', 'rolloutsToThreshold', 'residence'] as const).map((metric) =>
        metricCell(summary, metric),
      ),
    ]);
  return [...primary.map(primaryLine), table.toString(), ...notes].join('\n');
}

/** `tuned − random, held-out success …: +0.048 [0.034, 0.067], p = 0.031: larger`. */
function primaryLine(result: PrimaryResult): string {
  const { arm, against, measure, difference, p } = result;
  const { title, unit } = runMetrics[measure];
  const figures = differenceText(difference && { ...difference, p, adjusted: null }, unit);
  return `${arm} − ${against}, ${title}: ${figures}, ${p === null ? '–' : pText(p)}: ${primaryVerdictText(result)}`;
}

const HANDWRITTEN_BELOW = '<!-- What stands below this line is written by people, and kept. -->';

/**
 * Writes the results to a document, and their summary to a file next to it. What people wrote in the document
 * below the line that separates the two is kept.
 */
export async function writeResultsDocument(file: string, results: string, summary: string): Promise<void> {
  const document = existsSync(file) ? await readFile(file, 'utf8') : '';
  const [, handwritten = '\n'] = document.split(HANDWRITTEN_BELOW);
  await atomicWrite(file, `${results}\n${HANDWRITTEN_BELOW}${handwritten}`);
  await atomicWrite(summaryFileFor(file), summary);
}

/** The part of a results document that the command writes. */
export const generatedPart = (document: string): string => document.split(`\n${HANDWRITTEN_BELOW}`)[0]!;

/** Where the runs of a document are, from which it can be made again. */
export const runsFileFor = (document: string): string => `${document.replace(/\.md$/, '')}.runs.jsonl`;

/** Where the learning curves of a document are drawn. */
export const curvesFileFor = (document: string): string => `${document.replace(/\.md$/, '')}.svg`;

export const summaryFileFor = (document: string): string => `${document.replace(/\.md$/, '')}.json`;
