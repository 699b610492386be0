import type { ArmSummary } from './arm-summary.ts';
import { runMetrics } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import { estimateText, valueText } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

/**
 * A figure of an arm as tables show it: of seeds that did not come to the threshold it is only the least it may be,
 * without an interval.
 */
export function metricCell({ figures, runs }: ArmSummary, metric: RunMetricName): string {
  const estimate = figures[metric];
  const { unit } = runMetrics[metric];
  const text = estimateText(estimate, unit);
  if (metric === 'bandEntry' && estimate === null) return figures.residence === null ? '–' : 'never';
  if (metric !== 'rolloutsToThreshold' || estimate === null)
    return text + seedCountText(estimate, runs.length);
  const reached = runs.filter((run) => run.reached).length;
  if (reached === 0) return 'never';
  return reached === runs.length
    ? text
    : `≥ ${valueText(estimate.mean, unit)}, reached by ${reached} of ${runs.length} seeds`;
}

/** How many of the seeds an estimate is over, if not over all; nothing for a difference that is not known. */
export const seedCountText = (estimate: SeedEstimate | null, seeds: number): string =>
  estimate === null || estimate.isCensored || estimate.seeds === seeds
    ? ''
    : ` (${estimate.seeds} of ${seeds} seeds)`;
