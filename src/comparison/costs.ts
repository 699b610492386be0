import type { Prices } from '../config/prices.ts';
import { costCells, costColumns, tokenScope, unrecordedPrompts } from '../report/costs.ts';
import { sumUsage } from '../runs/costs.ts';
import type { Usage } from '../runs/costs.ts';
import { mean } from '../numerics/arithmetic.ts';
import { asLearningCurve } from './axes.ts';
import type { AxisPoint } from './axes.ts';
import { areaUnderCurve } from './learning-curve.ts';
import { table } from './markdown-table.ts';
import { boundsOf, estimateOverSeeds, estimateText, valueText } from './seed-estimates.ts';

/** What the runs of an arm have used. */
export interface ArmUsage {
  arm: string;
  runs: number;
  /** Of all its runs, epoch by epoch; null if the settings of one of them cannot be read. */
  epochs: readonly Usage[] | null;
  /** Held-out success of each run by the milliseconds that its epochs took; empty where no time is recorded. */
  curves: readonly (readonly AxisPoint[])[];
}

/**
 * What each arm has used and, with prices, what it costs. It is no part of the results, which follow from the
 * ledgers alone: hours and further attempts differ from one machine to the next.
 */
export function armCostsMarkdown(name: string, arms: readonly ArmUsage[], prices?: Prices): string {
  const readable = arms.flatMap(({ epochs }) => epochs ?? []);
  const rows = arms.map(({ arm, runs, epochs }) => [arm, String(runs), ...cellsOf(epochs, prices)]);
  const runs = arms.reduce((sum, arm) => sum + arm.runs, 0);
  const source =
    prices === undefined
      ? '`genenv report --prices` adds what it costs.'
      : `Prices of ${prices.date}: ${prices.source}.`;
  return [
    `# Costs: ${name}`,
    'Of the runs, from the files in this home folder; cross-play and probes come on top. Actions are what ' +
      'Temporal Cloud bills: those that the plan of an epoch needs, and its further attempts. ' +
      `${tokenScope}${unrecordedPrompts(readable)} ${source}`,
    table(
      ['arm', 'runs', ...costColumns(prices)],
      [...rows, ['all', String(runs), ...cellsOf(arms.some(isUnreadable) ? null : readable, prices)]],
    ),
    ...timeParts(arms),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

const isUnreadable = ({ epochs }: ArmUsage): boolean => epochs === null;

const cellsOf = (epochs: readonly Usage[] | null, prices: Prices | undefined): string[] =>
  epochs === null ? costColumns(prices).map(() => '–') : costCells(sumUsage(epochs), prices);

/** Held-out success if all arms got the same time: the mean over the run, up to the least that any run took. */
function timeParts(arms: readonly ArmUsage[]): string[] {
  const ends = arms.flatMap(({ curves }) => curves.flatMap((curve) => curve.at(-1)?.used ?? []));
  if (ends.length === 0) return [];
  const upTo = Math.min(...ends);
  return [
    `Held-out success, mean over the run, in the first ${(upTo / 3.6e6).toFixed(2)} hours of phases, which every run ` +
      'took, with Student’s 95 % interval over seeds. The clock starts with the preparation, where an arm may write its ' +
      'tasks; the mean starts at its end. Runs that went at the same time share the machine.',
    table(
      ['arm', 'area by hours', 'hours of a run'],
      arms.map(({ arm, curves }) => [
        arm,
        estimateText(
          estimateOverSeeds(
            curves.map((curve) => areaUnderCurve(asLearningCurve(curve), upTo)),
            boundsOf('share'),
          ),
        ),
        valueText(
          mean(curves.flatMap((curve) => curve.at(-1)?.used ?? []).map((used) => used / 3.6e6)),
          'number',
        ),
      ]),
    ),
  ];
}
