import { mean, range, sum } from '../../numerics/arithmetic.ts';
import { requireInRange, ROUNDING } from '../../numerics/preconditions.ts';

/** A task: its success rate, and the means of ‖(r - p) ∇ log π‖², ‖∇ log π‖² and tokens over its rollouts. */
export interface SignalTask {
  p: number;
  norm: number;
  score: number;
  tokens: number;
}

export interface SignalBin {
  low: number;
  high: number;
  tasks: number;
  /** Means over the bin's tasks; null if it has none. `variance` is p(1-p). */
  p: number | null;
  variance: number | null;
  norm: number | null;
  score: number | null;
  tokens: number | null;
}

export interface SignalFit {
  bins: SignalBin[];
  /** Least squares c of norm = c p(1-p) over the bins that have tasks. */
  slope: number;
  /**
   * 1 - Σ(norm - c p(1-p))² / Σ(norm - mean)²: below 0 if a constant fits better; null if all norms are
   * equal.
   */
  r2: number | null;
  /** The bin of the largest norm. */
  peak: { low: number; high: number };
}

const BIN_COUNT = 10;

/**
 * Whether the gradient signal follows p(1-p) (GenEnv, Proposition 1: C_min p(1-p) <= E‖g‖² <= C_max p(1-p)
 * with baseline p): tasks in ten bins of p, each task weighing alike in its bin, and one line through the
 * origin. Null without two bins that have tasks. Two columns show what c hides: `score`, the norm without the
 * factor (r - p)², and `tokens`, since a long answer has a large gradient whatever its reward.
 */
export function signalFit(tasks: readonly SignalTask[]): SignalFit | null {
  for (const [i, { p }] of tasks.entries()) requireInRange(`tasks[${i}].p`, p, 0, 1);
  const bins = range(BIN_COUNT).map((index): SignalBin => {
    const own = tasks.filter(({ p }) => binOf(p) === index);
    const meanOf = (value: (task: SignalTask) => number): number | null => mean(own.map(value));
    return {
      low: index / BIN_COUNT,
      high: (index + 1) / BIN_COUNT,
      tasks: own.length,
      p: meanOf(({ p }) => p),
      variance: meanOf(({ p }) => p * (1 - p)),
      norm: meanOf(({ norm }) => norm),
      score: meanOf(({ score }) => score),
      tokens: meanOf(({ tokens }) => tokens),
    };
  });
  const points = bins.flatMap(({ low, high, variance, norm }) =>
    variance === null || norm === null ? [] : [{ low, high, variance, norm }],
  );
  const squares = sum(points.map(({ variance }) => variance ** 2));
  if (points.length < 2 || squares === 0) return null;
  const slope = sum(points.map(({ variance, norm }) => variance * norm)) / squares;
  const centre = mean(points.map(({ norm }) => norm))!;
  const total = sum(points.map(({ norm }) => (norm - centre) ** 2));
  const residual = sum(points.map(({ variance, norm }) => (norm - slope * variance) ** 2));
  const peak = points.reduce((best, point) => (point.norm > best.norm ? point : best));
  return {
    bins,
    slope,
    r2: total === 0 ? null : 1 - residual / total,
    peak: { low: peak.low, high: peak.high },
  };
}

/** The bin of a rate. Rates like 0.3 lie on a border, and 3 / 10 is less than 0.1 + 0.2. */
const binOf = (p: number): number => Math.min(BIN_COUNT - 1, Math.floor(p * BIN_COUNT + ROUNDING));

/**
 * Tasks of one agent in units of its own mean ‖∇ log π‖², so that agents of several runs can be
 * pooled: in these units all norms follow p(1-p) if c is constant.
 */
export function inOwnUnits(tasks: readonly SignalTask[]): SignalTask[] {
  const unit = mean(tasks.map(({ score }) => score));
  return unit === null || unit === 0
    ? []
    : tasks.map((task) => ({ ...task, norm: task.norm / unit, score: task.score / unit }));
}
