import { table } from './markdown-table.ts';
import { runMetrics } from './run-metrics.ts';
import { differenceText, pText, valueText } from './seed-estimates.ts';
import type { Sweep } from './sweep.ts';

/** The sweep as a table. */
export function sweepMarkdown({ measure, points }: Sweep): string {
  const { title, unit } = runMetrics[measure];
  return [
    `Difference in ${title}, seed by seed, with Student’s 95 % interval; p of an exact sign-flip test, not corrected ` +
      'for the number of rows. p0 is the agent’s success on the first epoch’s tasks of the baseline.',
    table(
      ['arms', 'p0', 'difference', 'seeds', 'p, exact', 'comparison'],
      points.map(({ arm, against, p0, difference, p, comparison }) => [
        `${arm} − ${against}`,
        valueText(p0),
        differenceText({ ...difference, p, adjusted: null }, unit),
        String(difference.seeds),
        pText(p),
        comparison,
      ]),
    ),
    '',
  ].join('\n\n');
}
