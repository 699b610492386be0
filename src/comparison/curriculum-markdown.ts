import type { ArmSummary } from './arm-summary.ts';
import { table } from './markdown-table.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { valueText } from './seed-estimates.ts';

/** The parts of results.md on what each arm trained on. */
export const curriculumParts = (arms: readonly ArmSummary[]): string[] => [
  '## Curriculum',
  'Difficulty and shares are of the tasks as the simulator wrote them; tokens are of all correct answers of the ' +
    'agent, those to base and earlier tasks too. First to last five epochs, and first to last third of the run.',
  table(
    ['arm', 'difficulty', 'tokens of correct answers', 'never solved (k = 0)', 'always solved (k = n)'],
    arms.map((arm) => [
      arm.arm,
      changeCell(arm, 'difficultyStart', 'difficultyEnd'),
      changeCell(arm, 'lengthStart', 'lengthEnd'),
      changeCell(arm, 'unsolvedStart', 'unsolvedEnd'),
      changeCell(arm, 'solvedStart', 'solvedEnd'),
    ]),
  ),
  'Shares of never and of always solved tasks by epoch, over whole runs, mean over the seeds:',
  shareTable(arms),
  ...kindParts(arms),
];

function changeCell({ figures }: ArmSummary, from: RunMetricName, to: RunMetricName): string {
  const start = valueText(figures[from]?.mean, runMetrics[from].unit);
  return `${start} to ${valueText(figures[to]?.mean, runMetrics[to].unit)}`;
}

function shareTable(arms: readonly ArmSummary[]): string {
  const shown = thinToNine([...(arms[0]?.courses.unsolved ?? []).keys()]);
  return table(
    ['epoch', ...arms.map(({ arm }) => arm)],
    shown.map((row) => [
      String(row + 1),
      ...arms.map(
        ({ courses: { unsolved, solved } }) => `${valueText(unsolved[row])}, ${valueText(solved[row])}`,
      ),
    ]),
  );
}

function kindParts(arms: readonly ArmSummary[]): string[] {
  const kinds = [...new Set(arms.flatMap((arm) => arm.kinds.map(({ kind }) => kind)))].sort();
  if (kinds.length === 0) return [];
  const shareCell = (arm: ArmSummary, kind: string): string => {
    const share = arm.kinds.find((candidate) => candidate.kind === kind);
    return share === undefined ? '–' : `${valueText(share.end)} (${valueText(share.most)})`;
  };
  return [
    'Kinds of tasks: their shares in the last five epochs of whole runs, mean over the seeds, and the most of ' +
      'five epochs on end under any seed:',
    table(
      ['arm', ...kinds],
      arms.map((arm) => [arm.arm, ...kinds.map((kind) => shareCell(arm, kind))]),
    ),
  ];
}

/** At most nine of the items, evenly spaced, the first and the last included. */
export function thinToNine<T>(items: readonly T[]): T[] {
  const step = Math.max(1, Math.ceil((items.length - 1) / 8));
  return items.filter((_, index) => index % step === 0 || index === items.length - 1);
}
