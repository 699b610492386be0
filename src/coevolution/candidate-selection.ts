import { requireInRange, requireInteger } from './domain.ts';
import type { RandomStream } from './seeds.ts';

/**
 * Indices of the `count` candidates to roll out, in rising order: those worth most, by default with the largest p̃ (1 - p̃), which
 * bounds their squared policy gradient. LILO (2502.12272) and SFL (2408.15099), with a predicted p̃ in place of a measured one. A
 * candidate nothing is known of (null) is worth the most there is (1/4 here): it is worth a look. `worth` is in [0, 1]. Ties are drawn, so that the order in which the simulator
 * wrote decides nothing; `usable` false comes last of all, and only where there are too few others.
 */
export function selectCandidates(
  candidates: readonly { predicted: number | null; usable: boolean }[],
  count: number,
  random: RandomStream,
  worth: (predicted: number | null) => number = signalOf,
): number[] {
  requireInteger('count', count, 0);
  const scored = candidates.map(({ predicted, usable }, index) => {
    if (predicted !== null) requireInRange(`candidates[${index}].predicted`, predicted, 0, 1);
    return { index, score: (usable ? 2 : 0) + worth(predicted) };
  });
  return random
    .shuffle(scored)
    .sort((left, right) => right.score - left.score)
    .slice(0, count)
    .map(({ index }) => index)
    .sort((left, right) => left - right);
}

function signalOf(predicted: number | null): number {
  const p = predicted ?? 0.5;
  return p * (1 - p);
}
