import type { PrimarySettings } from '../config/primary-comparisons.ts';
import { comparedMeasures } from '../config/primary-comparisons.ts';
import { holmAdjusted } from '../numerics/holm.ts';
import type { Differences } from './arm-summary.ts';
import type { RunMetricName } from './run-metrics.ts';

/** A row of a table of differences: one arm minus another. */
export interface ComparedArms {
  arm: string;
  reference: string;
  differences: Differences;
}

/**
 * Corrects a table's tests for their number, by Holm: the family is all its rows in the figures that arms aim
 * for (`comparedMeasures`), but for the comparisons that were named beforehand, which stand alone, and those
 * that cannot be tested.
 * @returns the rows with `adjusted` set, and the size of the family
 */
export function correctTable<Row extends ComparedArms>(
  rows: readonly Row[],
  primary: readonly PrimarySettings[],
): { rows: Row[]; tests: number } {
  const tested = rows.flatMap((row, index) =>
    comparedMeasures.flatMap((measure) => {
      const p = row.differences[measure]?.p ?? null;
      return p === null || isPrimary(primary, row, measure) ? [] : [{ index, measure, p }];
    }),
  );
  const adjusted = holmAdjusted(tested.map(({ p }) => p));
  const corrected = rows.map((row) => ({ ...row, differences: { ...row.differences } }));
  for (const [place, { index, measure }] of tested.entries()) {
    const { differences } = corrected[index]!;
    differences[measure] = { ...differences[measure]!, adjusted: adjusted[place]! };
  }
  return { rows: corrected, tests: tested.length };
}

/** Whether the difference of two arms in a metric, in either order, was named beforehand. */
export const isPrimary = (
  primary: readonly PrimarySettings[],
  { arm, reference }: Pick<ComparedArms, 'arm' | 'reference'>,
  metric: RunMetricName,
): boolean =>
  primary.some(
    (named) =>
      named.measure === metric &&
      ((named.arm === arm && named.against === reference) ||
        (named.arm === reference && named.against === arm)),
  );
