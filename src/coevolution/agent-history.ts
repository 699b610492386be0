import { mean, sum } from '../numerics/arithmetic.ts';
import type { SuccessCount } from '../numerics/intervals.ts';
import { requireCount, requireFinite, requireInteger } from '../numerics/preconditions.ts';
import { isInBand, TARGET_BAND } from './success-band.ts';
import type { Band } from './success-band.ts';

/**
 * Outcome of one task: its family, its latent difficulty in the world's own unit, and the agent's attempts.
 */
export type TaskOutcome = SuccessCount & {
  kind: string;
  difficulty: number;
  /** Key that near copies share, in worlds that report repeats to the simulator. */
  signature?: string;
  /** Why its attempts failed, in worlds that report it to the simulator. */
  failure?: string;
};

export type Failure = { kind: string; difficulty: number; failure?: string };

/** Counts of one epoch: enough to fold, small enough to keep. Unmeasured tasks are not in it. */
export type EpochCounts = {
  byKind: Record<string, SuccessCount>;
  tasks: number;
  inBand: number;
  /** Sum of the measured tasks' difficulties, in the world's own unit. */
  difficulty: number;
  failures: Failure[];
  /** Tasks by signature, the most frequent ones; absent if tasks have none. */
  signatures?: Record<string, number>;
};

/** What the simulator is told about the agent, over the last `window` epochs. */
export type AgentHistory = {
  /** Successes over attempts, in [0, 1]; null: nothing measured yet. */
  success: number | null;
  /** By family, keys in code-unit order. */
  byKind: Record<string, SuccessCount>;
  /** Tasks that were tried and never solved, newest epoch first, then by index. */
  recentFailures: Failure[];
  /** Share of the measured tasks with a success rate in the band; null: none. */
  inBandShare: number | null;
  /** Mean difficulty of the measured tasks: success at what; null: none. */
  difficulty: number | null;
  /**
   * Least-squares slope of the epochs' success rates, per epoch, in [-1, 1]; null below two measured epochs.
   */
  trend: number | null;
  /** The signatures written most often, at least twice, most frequent first; absent if tasks have none. */
  repeated?: { signature: string; count: number }[];
  /** Oldest first: what the rest was computed from. */
  epochs: EpochCounts[];
};

export type HistorySettings = {
  /** Epochs that count, at least 1. */
  window: number;
  /** Failures that are listed, and kept of each epoch. */
  failures?: number;
  band?: Band;
};

/**
 * What the simulator is told of an agent: its history, or nothing but that it has not been seen yet. GenEnv
 * conditions on "recent success statistics"; without them the reward alone can move the simulator.
 */
export const shownHistory = (
  history: AgentHistory,
  { shown = true }: { shown?: boolean | undefined },
): AgentHistory => (shown ? history : emptyHistory());

/** The history of an agent that has not been seen yet. */
export function emptyHistory(): AgentHistory {
  return {
    success: null,
    byKind: {},
    recentFailures: [],
    inBandShare: null,
    difficulty: null,
    trend: null,
    epochs: [],
  };
}

/**
 * Folds one epoch's outcomes into the history that conditions the simulator ("summary signals, e.g. recent
 * success statistics", GenEnv 2.3, which prints no format). A pure fold: the result depends on the last
 * `window` epochs' outcomes only, and, but for the listed failures, not on the order of tasks. An epoch
 * without outcomes counts as an epoch.
 */
export function updateHistory(
  history: AgentHistory,
  outcomes: readonly TaskOutcome[],
  { window, failures = 4, band = TARGET_BAND }: HistorySettings,
): AgentHistory {
  requireInteger('window', window, 1);
  requireInteger('failures', failures, 0);
  const epochs = [...history.epochs, countEpoch(outcomes, failures, band)].slice(-window);
  const byKind = sumByKind(epochs.map((epoch) => epoch.byKind));
  const tasks = sum(epochs.map((epoch) => epoch.tasks));
  const signatures = epochs.flatMap((epoch) => (epoch.signatures === undefined ? [] : [epoch.signatures]));
  return {
    success: rateOf(byKind),
    byKind,
    recentFailures: epochs
      .toReversed()
      .flatMap((epoch) => epoch.failures)
      .slice(0, failures),
    inBandShare: ratio(sum(epochs.map((epoch) => epoch.inBand)), tasks),
    difficulty: ratio(sum(epochs.map((epoch) => epoch.difficulty)), tasks),
    trend: slope(epochs.map((epoch) => rateOf(epoch.byKind))),
    ...(signatures.length > 0 && { repeated: listRepeated(signatures) }),
    epochs,
  };
}

/** Signatures listed to the simulator, and signatures kept of an epoch. */
const LISTED_SIGNATURES = 4;
const KEPT_SIGNATURES = 32;

function listRepeated(signatures: readonly Record<string, number>[]): NonNullable<AgentHistory['repeated']> {
  const counts = addCounts(signatures.flatMap((epoch) => Object.entries(epoch)));
  return mostFrequent(counts, LISTED_SIGNATURES, 2).map(([signature, count]) => ({ signature, count }));
}

function countEpoch(outcomes: readonly TaskOutcome[], failures: number, band: Band): EpochCounts {
  for (const [i, outcome] of outcomes.entries()) {
    requireCount(`outcomes[${i}]`, outcome);
    requireFinite(`outcomes[${i}].difficulty`, outcome.difficulty);
  }
  const measured = outcomes.filter(({ attempts }) => attempts > 0);
  const signed = measured.flatMap(({ signature }) => (signature === undefined ? [] : [signature]));
  return {
    byKind: sumByKind(measured.map(({ kind, successes, attempts }) => ({ [kind]: { successes, attempts } }))),
    tasks: measured.length,
    inBand: measured.filter(({ successes, attempts }) => isInBand(successes / attempts, band)).length,
    difficulty: sum(measured.map(({ difficulty }) => difficulty)),
    failures: measured
      .filter(({ successes }) => successes === 0)
      .slice(0, failures)
      .map(({ kind, difficulty, failure }) => ({
        kind,
        difficulty,
        ...(failure !== undefined && { failure }),
      })),
    ...(signed.length > 0 && {
      signatures: Object.fromEntries(
        mostFrequent(addCounts(signed.map((signature) => [signature, 1])), KEPT_SIGNATURES),
      ),
    }),
  };
}

function addCounts(counts: readonly (readonly [string, number])[]): Map<string, number> {
  const total = new Map<string, number>();
  for (const [signature, count] of counts) total.set(signature, (total.get(signature) ?? 0) + count);
  return total;
}

/** Ties are in code-unit order, so that the order of tasks decides nothing. */
function mostFrequent(counts: ReadonlyMap<string, number>, max: number, min = 1): [string, number][] {
  return [...counts]
    .filter(([, count]) => count >= min)
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, max);
}

function sumByKind(counts: readonly Record<string, SuccessCount>[]): Record<string, SuccessCount> {
  const total = new Map<string, SuccessCount>();
  for (const [kind, { successes, attempts }] of counts.flatMap((count) => Object.entries(count))) {
    const before = total.get(kind) ?? { successes: 0, attempts: 0 };
    total.set(kind, { successes: before.successes + successes, attempts: before.attempts + attempts });
  }
  return Object.fromEntries([...total].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function rateOf(byKind: Record<string, SuccessCount>): number | null {
  const counts = Object.values(byKind);
  return ratio(sum(counts.map(({ successes }) => successes)), sum(counts.map(({ attempts }) => attempts)));
}

function ratio(part: number, total: number): number | null {
  return total === 0 ? null : part / total;
}

function slope(rates: readonly (number | null)[]): number | null {
  const points = rates.flatMap((rate, epoch) => (rate === null ? [] : [{ epoch, rate }]));
  const middle = mean(points.map(({ epoch }) => epoch));
  if (middle === null || points.length < 2) return null;
  const spread = sum(points.map(({ epoch }) => (epoch - middle) ** 2));
  return sum(points.map(({ epoch, rate }) => (epoch - middle) * rate)) / spread;
}
