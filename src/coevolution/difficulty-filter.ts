import { requireInRange, requireInteger, ROUNDING } from '../numerics/preconditions.ts';

/** Which tasks (or batches) an update learns from. alpha: the wanted success rate, in [0, 1]. */
export type DifficultyRule =
  | { type: 'off' }
  /** The paper's: |p̂ - α| <= kMin. */
  | { type: 'threshold'; alpha: number; kMin: number }
  /** The share `keep`, in (0, 1], nearest to α, rounded up, so that a measured batch never keeps nothing. */
  | { type: 'quantile'; alpha: number; keep: number }
  /** The `k` nearest to α, or all when there are fewer. */
  | { type: 'topK'; alpha: number; k: number };

/** 'surplus': p̂ equals α, but enough tasks before it do too. */
export type FilterReason = 'kept' | 'too easy' | 'too hard' | 'surplus' | 'not measured';

export type FilterDecision = { kept: boolean; reason: FilterReason };

/**
 * Difficulty filter: which success rates p̂, in [0, 1] or null (not measured), an update may use, and why
 * not. GenEnv 2.2 excludes |p̂ - α| > k_min = 0.1 from the update of the environment, and only from that.
 * Equal distances to α (up to rounding) go by index. What was not measured is never kept, whatever the rule.
 *
 * There is no fallback: if all are out of bounds nothing is kept, and the caller skips that update and
 * records it. (The reference release keeps nothing by accident below ten prompts; relaxing the bound
 * in silence would hide that the simulator is starved. `quantile` and `topK` are the rules that do not
 * starve.)
 */
export function difficultyFilter(
  successRates: readonly (number | null)[],
  rule: DifficultyRule,
): FilterDecision[] {
  for (const [i, rate] of successRates.entries()) {
    if (rate !== null) requireInRange(`successRates[${i}]`, rate, 0, 1);
  }
  const keptTasks = keptIndices(successRates, rule);
  return successRates.map((rate, i) => {
    if (rate === null) return { kept: false, reason: 'not measured' };
    if (rule.type === 'off' || keptTasks.has(i)) return { kept: true, reason: 'kept' };
    if (steps(rate, rule.alpha) === 0) return { kept: false, reason: 'surplus' };
    return { kept: false, reason: rate > rule.alpha ? 'too easy' : 'too hard' };
  });
}

function keptIndices(successRates: readonly (number | null)[], rule: DifficultyRule): Set<number> {
  if (rule.type === 'off') return new Set();
  requireInRange('alpha', rule.alpha, 0, 1);
  const nearest = successRates
    .flatMap((rate, index) => (rate === null ? [] : [{ index, distance: steps(rate, rule.alpha) }]))
    .sort((left, right) => left.distance - right.distance || left.index - right.index);
  switch (rule.type) {
    case 'threshold': {
      requireInRange('kMin', rule.kMin, 0, 1);
      const limit = steps(rule.kMin, 0);
      return new Set(nearest.filter(({ distance }) => distance <= limit).map(({ index }) => index));
    }
    case 'quantile': {
      if (!(rule.keep > 0 && rule.keep <= 1))
        throw new RangeError(`keep must be in (0, 1], got ${rule.keep}`);
      const count = Math.ceil(rule.keep * nearest.length - ROUNDING);
      return new Set(nearest.slice(0, count).map(({ index }) => index));
    }
    case 'topK': {
      requireInteger('k', rule.k, 1);
      return new Set(nearest.slice(0, rule.k).map(({ index }) => index));
    }
  }
}

/** Distance in units of the rounding error, so that 0.3 and 0.7 are equally far from 0.5. */
function steps(rate: number, alpha: number): number {
  return Math.round(Math.abs(rate - alpha) / ROUNDING);
}
