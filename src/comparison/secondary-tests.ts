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
 * Corrects the tests of all tables for their number, by Holm. The family is every two arms that a table compares,
 * once whichever way round and in however many tables, in the figures that arms aim for (`comparedMeasures`). The
 * comparisons that were named beforehand stand alone; what was not measured is no test. A difference of 0 under every
 * seed is one, and a censored difference, with p = 1: which tests there are must not depend on how they come out.
 * @returns the tables with `adjusted` set, and the size of the family
 */
export function correctTables<Row extends ComparedArms>(
  tables: readonly (readonly Row[])[],
  primary: readonly PrimarySettings[],
): { tables: Row[][]; tests: number } {
  const family = new Map<string, number>();
  for (const row of tables.flat())
    for (const measure of comparedMeasures) {
      const p = row.differences[measure]?.p ?? null;
      if (p !== null && !isPrimary(primary, row, measure)) family.set(testOf(row, measure), p);
    }
  const adjusted = holmAdjusted([...family.values()]);
  const adjustedByTest = new Map([...family.keys()].map((test, place) => [test, adjusted[place]!]));
  const correct = (row: Row): Row => {
    const differences = { ...row.differences };
    for (const measure of comparedMeasures) {
      const p = adjustedByTest.get(testOf(row, measure));
      if (p !== undefined) differences[measure] = { ...differences[measure]!, adjusted: p };
    }
    return { ...row, differences };
  };
  return { tables: tables.map((rows) => rows.map(correct)), tests: family.size };
}

/** The same for a difference and for its negative. */
const testOf = (
  { arm, reference }: Pick<ComparedArms, 'arm' | 'reference'>,
  measure: RunMetricName,
): string => [...[arm, reference].sort(), measure].join(' ');

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
