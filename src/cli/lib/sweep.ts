import { sweepMarkdown } from '../../comparison/sweep-markdown.ts';
import { sweep, sweptSummarySchema } from '../../comparison/sweep.ts';
import type { SweptPair, SweptSummary } from '../../comparison/sweep.ts';
import { sweepSvg } from '../../comparison/sweep-svg.ts';
import { comparedMeasures } from '../../config/primary-comparisons.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import { problemOf } from '../../store/json-files.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { exitCodes } from '../context.ts';
import type { CliContext, ExitCode } from '../context.ts';
import { readInputFile } from './read-file.ts';

/** Prints the sweep as a table and, if asked, writes it with its figure. */
export async function showSweep(
  files: readonly string[],
  { difference, measure, out }: { difference: readonly string[]; measure: string; out?: string },
  context: CliContext,
): Promise<ExitCode> {
  const named = comparedMeasures.find((name) => name === measure);
  if (named === undefined)
    throw new InvalidConfig(
      `--measure: got ${JSON.stringify(measure)}; allowed: ${comparedMeasures.join(', ')}`,
    );
  const pairs = difference.map(parsePair);
  const result = sweep(await Promise.all(files.map(readSummary)), pairs, named);
  const markdown = sweepMarkdown(result);
  context.print(markdown.trimEnd());
  if (out !== undefined) {
    await atomicWrite(`${out}.svg`, sweepSvg(result));
    await atomicWrite(`${out}.md`, markdown);
    context.print(`Figure: ${out}.svg`);
  }
  return exitCodes.ok;
}

function parsePair(pair: string): SweptPair {
  const [arm = '', against = '', ...rest] = pair.split(':');
  if (arm === '' || against === '' || rest.length > 0)
    throw new InvalidConfig(
      `--difference: got ${JSON.stringify(pair)}; expected two arms, such as tuned:random`,
    );
  return { arm, against };
}

async function readSummary(file: string): Promise<SweptSummary> {
  const summary = await readInputFile('summary', file, 'docs/results.json');
  const problem = problemOf(summary, sweptSummarySchema);
  if (problem !== undefined)
    throw new InvalidConfig(`summary: ${file}: ${problem}; expected the summary of a comparison`);
  return summary as SweptSummary;
}
