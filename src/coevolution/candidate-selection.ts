import { requireInRange, requireInteger } from './domain.ts';
import type { RandomStream } from './seeds.ts';

/**
 * Indices of the `count` candidates to roll out, in rising order: those with the largest p̃ (1 - p̃), which bounds their squared
 * policy gradient. LILO (2502.12272) and SFL (2408.15099), with a predicted p̃ in place of a measured one. A candidate
 * nothing is known of (null) counts as p̃ = 1/2: it is worth a look. Ties are drawn, so that the order in which the simulator
 * wrote decides nothing; `usable` false comes last of all, and only where there are too few others.
 */
export function selectCandidates(candidates: readonly { predicted: number | null; usable: boolean }[], count: number, random: RandomStream): number[] {
  requireInteger('count', count, 0);
  const scored = candidates.map(({ predicted, usable }, index) => {
    if (predicted !== null) requireInRange(`candidates[${index}].predicted`, predicted, 0, 1);
    const p = predicted ?? 0.5;
    return { index, score: (usable ? 1 : 0) + p * (1 - p) };
  });
  return random
    .shuffle(scored)
    .sort((left, right) => right.score - left.score)
    .slice(0, count)
    .map(({ index }) => index)
    .sort((left, right) => left - right);
}
