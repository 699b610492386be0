import { LEAST_PAIRS } from '../numerics/sign-flip.ts';
import { table } from './markdown-table.ts';
import type { PrimaryResult } from './primary.ts';
import { runMetrics } from './run-metrics.ts';
import { areSeedsAlike, differenceText, intervalText, pText, valueText } from './seed-estimates.ts';

/** How the primary comparisons are judged, in a paragraph. */
export const PRIMARY_RULE =
  'Named in the comparison file, before the runs. Each is tested by an exact two-sided sign-flip test over the ' +
  'seeds, at 5 % for each by itself: larger or smaller where p is below 0.05. Brackets behind the mean are ' +
  'Student’s 95 % interval. Two arms are equivalent if the 90 % interval lies inside ± the margin (two one-sided ' +
  'tests at 5 %). All else is undecided.';

/** What is said where a file names none. */
export const NO_PRIMARY =
  'No comparison was named beforehand (`primary` in the comparison file): all that follows is exploratory.';

export const primaryColumns = [
  'comparison',
  'figure',
  'difference',
  'by seed',
  'p, exact',
  '90 % interval',
  'margin',
  'verdict',
];

/** The part of results.md on the comparisons that were named beforehand. */
export const primaryParts = (primary: readonly PrimaryResult[], seeds: number): string[] =>
  primary.length === 0
    ? [NO_PRIMARY]
    : [
        '## Primary comparisons',
        `${PRIMARY_RULE}${fewSeedsText(seeds)}`,
        table(
          primaryColumns,
          primary.map((result) => [...primaryCells(result), `**${primaryVerdictText(result)}**`]),
        ),
      ];

export const fewSeedsText = (seeds: number): string =>
  seeds >= LEAST_PAIRS
    ? ''
    : ` Over ${seeds} ${seeds === 1 ? 'seed' : 'seeds'} the test cannot give less than ${2 / 2 ** seeds}: it takes ` +
      `${LEAST_PAIRS} to find one arm larger than another.`;

/** The columns but for the verdict. */
export function primaryCells(result: PrimaryResult): string[] {
  const { arm, against, measure, margin, bySeed, difference, p, narrow } = result;
  const { title, unit } = runMetrics[measure];
  return [
    `${arm} − ${against}`,
    title,
    differenceText(difference && { ...difference, p, adjusted: null }, unit),
    bySeed.map((value) => valueText(value, unit)).join(', '),
    p === null ? '–' : pText(p),
    narrow === null ? noIntervalText(result) : intervalText(narrow, unit),
    valueText(margin, unit),
  ];
}

const noIntervalText = ({ difference }: PrimaryResult): string =>
  difference !== null && areSeedsAlike(difference) ? 'all seeds alike' : '–';

/** `larger`, `smaller but equivalent within 0.020`, `equivalent within 0.020`, `undecided`. */
export function primaryVerdictText({ verdict, equivalent, measure, margin }: PrimaryResult): string {
  const within = `equivalent within ${valueText(margin, runMetrics[measure].unit)}`;
  if (verdict === 'equivalent') return within;
  return equivalent ? `${verdict} but ${within}` : verdict;
}
