import { range } from '../numerics/arithmetic.ts';
import type { ArmSummary } from './arm-summary.ts';
import { table } from './markdown-table.ts';
import { metricCell } from './metric-cell.ts';
import { NEAR_CAP, runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { valueText } from './seed-estimates.ts';

const conditions = [
  'bandEntry',
  'calibrationStart',
  'calibrationEnd',
  'simulatorKlAtCap',
  'simulatorKlCapped',
  'simulatorStepsShortened',
  'simulatorStepShare',
  'agentKlAtCap',
  'heldOutOverlap',
] as const satisfies RunMetricName[];

/** The parts of results.md on what kept simulators from α, and on what the filter drops. */
export const conditionParts = (arms: readonly ArmSummary[]): string[] => [
  ...reachParts(arms),
  ...filterParts(arms),
];

function reachParts(arms: readonly ArmSummary[]): string[] {
  const columns = conditions.filter((metric) => arms.some(({ figures }) => figures[metric] !== null));
  if (columns.length === 0) return [];
  return [
    '## Calibration and caps',
    'When success first came into the band, under how many of the seeds; how far from α the new tasks are (noise alone keeps it above 0), whether the cap of the KL to the initial policy ' +
      `binds (a KL of ${100 * NEAR_CAP} % of the cap or more; and where it acted on an update), whether the cap on the KL ` +
      'of a single step does (it halves a step until it fits), and how many of the tasks that the simulator wrote were ' +
      'held-out ones.',
    table(
      ['arm', ...columns.map((metric) => runMetrics[metric].title)],
      arms.map((summary) => [summary.arm, ...columns.map((metric) => metricCell(summary, metric))]),
    ),
  ];
}

function filterParts(arms: readonly ArmSummary[]): string[] {
  const filtered = arms.filter(({ filtered: tenths }) => tenths.length > 0);
  if (filtered.length === 0) return [];
  return [
    '## What the filter keeps',
    'Share of the new tasks in each tenth of p̂ that the simulator’s update may use, and how many tasks there were, over ' +
      'all epochs and seeds.',
    table(
      ['arm', ...range(10).map((tenth) => `${(tenth / 10).toFixed(1)} to ${((tenth + 1) / 10).toFixed(1)}`)],
      filtered.map(({ arm, filtered: tenths }) => [
        arm,
        ...range(10).map((tenth) => {
          const own = tenths.find((candidate) => candidate.tenth === tenth);
          return own === undefined ? '–' : `${valueText(own.kept / own.tasks)} of ${own.tasks}`;
        }),
      ]),
    ),
  ];
}
