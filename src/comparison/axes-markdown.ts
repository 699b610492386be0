import { table } from './markdown-table.ts';
import { differenceText } from './seed-estimates.ts';
import type { Summary } from './summary.ts';

/** The part of results.md on what else than rollouts a run uses; none for runs that have not counted it. */
export function axesParts({ axes, arms }: Pick<Summary, 'axes' | 'arms'>): string[] {
  if (axes.length === 0) return [];
  return [
    '## Areas on other axes',
    'Held-out success, mean over the run, at equal amounts of something other than rollouts: an arm minus ' +
      'the one named in the head, under the same seed, up to the least that any run of the two used of it. An arm that ' +
      'uses none has no area there. These are not tested. Hours are in costs.md.',
    table(
      ['arm', ...axes.map(({ title, reference }) => `${title}: minus ${reference}`)],
      arms.map(({ arm }) => [
        arm,
        ...axes.map(({ arms: compared }) => {
          const { upTo, difference } = compared.find((candidate) => candidate.arm === arm)!;
          return difference === null ? '–' : `${differenceText(difference)}, up to ${upTo}`;
        }),
      ]),
    ),
  ];
}
