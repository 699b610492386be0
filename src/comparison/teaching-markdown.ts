import type { ArmSummary } from './arm-summary.ts';
import { table } from './markdown-table.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { estimateText } from './seed-estimates.ts';

const columns = [
  'screeningSuccess',
  'binSuccess',
  'logprobGain',
  'answerProbabilityGain',
  'informative',
] as const satisfies RunMetricName[];

/** The part of results.md on arms that differ in the success of their tasks; none without such an arm. */
export function teachingParts(arms: readonly ArmSummary[]): string[] {
  const bins = arms.filter(({ type }) => type === 'success-bin');
  if (bins.length === 0) return [];
  return [
    '## Teaching',
    'What a few updates on tasks of one success rate are worth. Tasks were chosen by one half of the initial ' +
      'agent’s attempts; what they are said to be is by the other half, since the first has luck in it. The ' +
      'outcome is the change of the mean log-probability of the right answers to held-out tasks of all ' +
      'difficulties, in nats. It weighs answers that are never given; the mean probability of the right answers, ' +
      'which is success without its sampling noise, hardly does.',
    table(
      ['arm', ...columns.map((metric) => runMetrics[metric].title)],
      bins.map((arm) => [
        arm.arm,
        ...columns.map((metric) => estimateText(arm.figures[metric], runMetrics[metric].unit)),
      ]),
    ),
  ];
}
