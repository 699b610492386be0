import { finishNow } from '../../async/long-computation.ts';
import type { LongComputation } from '../../async/long-computation.ts';
import { mean, range } from '../../numerics/arithmetic.ts';
import { ROUNDING } from '../../numerics/preconditions.ts';
import { randomStream } from '../../numerics/random.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { quantile } from '../../numerics/intervals.ts';
import { inOwnUnits, signalFit } from './gradient-signal.ts';
import type { SignalFit, SignalTask } from './gradient-signal.ts';

/** Classes of an agent's tasks by the length of its answers. */
const STRATA = 4;

/** How well the signal follows p(1-p) among answers of like length, and how sure that is. */
export interface StratifiedSignal {
  r2: number;
  /** Of 95 %, by bootstrap over the tasks. */
  low: number;
  high: number;
  peak: SignalFit['peak'];
  /** Share of the resamples whose largest bin lies in the middle. */
  middle: number;
}

export interface StratifiedSettings {
  seed: number;
  /** Bins of p that are the middle. */
  middle: { low: number; high: number };
  resamples?: number;
}

/**
 * The gradient signal without what the length of answers makes of it: a long answer has a large gradient whatever
 * comes of it, and hard tasks have long answers. The tasks of each agent are divided into four classes of
 * about equally many by tokens, and norms are counted in units of their class's mean ‖∇ log π‖²; then all are
 * fitted together. The interval is a percentile bootstrap (Efron 1979) that draws tasks within each class of each
 * agent: there are hundreds. Null where nothing can be fitted.
 * @param agents the tasks of each
 */
export const stratifiedSignal = (
  agents: readonly (readonly SignalTask[])[],
  settings: StratifiedSettings,
): StratifiedSignal | null => finishNow(computeStratifiedSignal(agents, settings));

/** `stratifiedSignal` as a long computation. */
export function* computeStratifiedSignal(
  agents: readonly (readonly SignalTask[])[],
  { seed, middle, resamples = 400 }: StratifiedSettings,
): LongComputation<StratifiedSignal | null> {
  const strata = agents.flatMap(byLength);
  const fit = signalFit(strata.flatMap(inOwnUnits));
  const fitted = fit?.r2 ?? null;
  if (fit === null || fitted === null) return null;
  const random = randomStream(seed);
  const fits: SignalFit[] = [];
  for (let resample = 0; resample < resamples; resample++) {
    const drawn = signalFit(strata.flatMap((tasks) => inOwnUnits(drawAgain(tasks, random))));
    if (drawn !== null) fits.push(drawn);
    yield;
  }
  const r2 = Float64Array.from(fits.flatMap((drawn) => drawn.r2 ?? [])).sort();
  if (r2.length === 0) return null;
  const isMiddle = ({ peak }: SignalFit): boolean =>
    peak.low >= middle.low - ROUNDING && peak.high <= middle.high + ROUNDING;
  return {
    r2: fitted,
    low: quantile(r2, 0.025),
    high: quantile(r2, 0.975),
    peak: fit.peak,
    middle: mean(fits.map((drawn) => (isMiddle(drawn) ? 1 : 0)))!,
  };
}

/** The tasks in classes of tokens; tasks of equal tokens are in one, so there may be fewer. */
function byLength(tasks: readonly SignalTask[]): SignalTask[][] {
  const lengths = tasks.map(({ tokens }) => tokens).sort((a, b) => a - b);
  const limits = range(STRATA - 1).map(
    (index) => lengths[Math.floor(((index + 1) * lengths.length) / STRATA)]!,
  );
  const classOf = ({ tokens }: SignalTask): number => limits.filter((limit) => tokens >= limit).length;
  return range(STRATA)
    .map((stratum) => tasks.filter((task) => classOf(task) === stratum))
    .filter((own) => own.length > 0);
}

const drawAgain = (tasks: readonly SignalTask[], random: RandomStream): SignalTask[] =>
  tasks.map(() => random.pick(tasks));
