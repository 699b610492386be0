import { requireInRange } from './domain.ts';

/** By family: fast and slow moving averages of its success rate, each in [0, 1]. */
export type ProgressState = Record<string, { fast: number; slow: number }>;

/** Weights of the newest rate, 0 < slow < fast <= 1: about two epochs and ten epochs of memory. */
export type ProgressRates = { fast: number; slow: number };

export const PROGRESS_RATES: ProgressRates = { fast: 0.5, slow: 0.1 };

/**
 * One epoch of learning progress: each family's averages move towards its success rate p by their weight,
 * ema += weight (p - ema); a family seen first starts at p in both, one not measured (null, or absent) stays as it
 * is. A pure fold, keys in code-unit order. LP_f = fast - slow, after Graves et al. 2017 and Kanitscheider et al. 2021.
 */
export function updateLearningProgress(
  state: ProgressState,
  rates: Readonly<Record<string, number | null>>,
  { fast, slow }: ProgressRates = PROGRESS_RATES,
): ProgressState {
  requireInRange('fast', fast, 0, 1);
  if (!(slow > 0 && slow < fast)) throw new RangeError(`slow must be in (0, fast = ${fast}), got ${slow}`);
  const next = new Map(Object.entries(state));
  for (const [family, rate] of Object.entries(rates)) {
    if (rate === null) continue;
    requireInRange(`rates.${family}`, rate, 0, 1);
    const before = next.get(family) ?? { fast: rate, slow: rate };
    next.set(family, {
      fast: before.fast + fast * (rate - before.fast),
      slow: before.slow + slow * (rate - before.slow),
    });
  }
  return sorted(next);
}

/**
 * Learning progress by family: fast - slow, in [-1, 1]. Above 0 the agent gets better there, about 0 it has mastered
 * it or learns nothing (noise), below 0 it forgets. Success on tasks that get harder hides progress: read it with
 * the difficulty beside it.
 */
export function learningProgress(state: ProgressState): Record<string, number> {
  return sorted(new Map(Object.entries(state).map(([family, { fast, slow }]) => [family, fast - slow])));
}

function sorted<V>(entries: Map<string, V>): Record<string, V> {
  return Object.fromEntries([...entries].sort(([left], [right]) => (left < right ? -1 : 1)));
}
