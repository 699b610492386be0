import { readFile } from 'node:fs/promises';
import { differenceText, estimateText } from '../../comparison/seed-estimates.ts';
import type { Summary } from '../../comparison/summary.ts';
import { plainTable } from '../show/table.ts';

/** What a comparison came to, in a few columns; results and report have the rest. */
export async function finalTable(summaryFile: string): Promise<string> {
  const { arms, against, baseline, threshold, notes } = JSON.parse(
    await readFile(summaryFile, 'utf8'),
  ) as Summary;
  const table = plainTable([
    'arm',
    'held-out, mean over the run',
    `minus ${baseline}`,
    'held-out at the end',
    `rollouts to ${threshold}`,
    'in the band',
  ]);
  const ahead = new Map(against[0]?.rows.map(({ arm, differences }) => [arm, differences.area]));
  for (const { arm, figures } of arms) {
    const { area, finalHeldOut, rolloutsToThreshold, residence } = figures;
    table.push([
      arm,
      estimateText(area),
      differenceText(ahead.get(arm) ?? null).replaceAll('**', ''),
      estimateText(finalHeldOut),
      estimateText(rolloutsToThreshold, 'count'),
      estimateText(residence),
    ]);
  }
  return [table.toString(), ...notes].join('\n');
}
