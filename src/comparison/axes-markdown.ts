import { seedCountText } from './metric-cell.ts';
import { table } from './markdown-table.ts';
import { differenceText } from './seed-estimates.ts';
import type { Summary } from './summary.ts';

/** The part of results.md on what else than rollouts a run uses; none for runs that have not counted it. */
export function axesParts({ axes, arms, seeds }: Pick<Summary, 'axes' | 'arms' | 'seeds'>): string[] {
  if (axes.length === 0) return [];
  return [
    '## Areas on other axes',
    'Held-out success, mean over the run, at equal amounts of something other than rollouts: an arm minus ' +
      'the one named in the head, under the same seed, up to the least that any run of the two used of it. An arm that ' +
      'uses none in its epochs has no area there: `static` writes its texts before them. A curve begins with the last score ' +
      'before anything was used, whatever rollouts came first: an arm whose simulator is first updated in a late epoch ' +
      'begins with an agent that has learned. These are not tested. Hours are in costs.md.',
    table(
      ['arm', ...axes.map(({ title, reference }) => `${title}: minus ${reference}`)],
      arms.map(({ arm }) => [
        arm,
        ...axes.map(({ arms: compared }) => {
          const { upTo, difference } = compared.find((candidate) => candidate.arm === arm)!;
          if (difference === null) return '–';
          return `${differenceText(difference)}, up to ${upTo}${seedCountText(difference, seeds.length)}`;
        }),
      ]),
    ),
  ];
}
