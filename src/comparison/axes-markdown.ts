import { table } from './markdown-table.ts';
import { estimateText } from './seed-estimates.ts';
import type { Summary } from './summary.ts';

/** The part of results.md on what else than rollouts a run uses; none for runs that have not counted it. */
export function axesParts({ axes, arms, rollouts }: Pick<Summary, 'axes' | 'arms' | 'rollouts'>): string[] {
  if (axes.length === 0) return [];
  return [
    '## Areas on other axes',
    'Held-out success, mean over the run, if arms get the same of something else than rollouts: up to the least ' +
      'that any run used of it in all, of those that used some. Arms that use none have no area there. ' +
      'These are not tested. Hours are in costs.md.',
    table(
      ['arm', `rollouts, up to ${rollouts}`, ...axes.map(({ title, upTo }) => `${title}, up to ${upTo}`)],
      arms.map(({ arm, figures }) => [
        arm,
        estimateText(figures.area),
        ...axes.map((axis) => estimateText(axis.arms.find((own) => own.arm === arm)?.area ?? null)),
      ]),
    ),
  ];
}
