import { mean } from '../numerics/arithmetic.ts';
import { requireInRange, requireInteger, ROUNDING } from '../numerics/preconditions.ts';

/** The zone of proximal development, both ends included. */
export type Band = { low: number; high: number };

/** The band of GenEnv's figures (4d, 5c, 7): success in [0.4, 0.6]. */
export const TARGET_BAND: Band = { low: 0.4, high: 0.6 };

export function isInBand(rate: number, band: Band = TARGET_BAND): boolean {
  requireInRange('band.low', band.low, 0, 1);
  requireInRange('band.high', band.high, band.low, 1);
  return rate >= band.low - ROUNDING && rate <= band.high + ROUNDING;
}

/**
 * Share of the measured success rates (null: not measured) that lie in the band, in [0, 1]; null when none
 * was measured. A mean in the band says less: half trivial and half impossible has mean 0.5 and share 0.
 */
export function inBandShare(rates: readonly (number | null)[], band: Band = TARGET_BAND): number | null {
  requireRates('rates', rates);
  const measured = rates.filter((rate) => rate !== null);
  return mean(measured.map((rate) => (isInBand(rate, band) ? 1 : 0)));
}

/**
 * Calibration error: mean of |p̂ − α| over the measured success rates (null: not measured), in [0, 1]; null if
 * none was measured. Noise alone keeps it above 0: with p = α = 0.5 for every task and n = 8 rollouts its mean
 * is 0.137.
 */
export function calibrationError(rates: readonly (number | null)[], alpha: number): number | null {
  requireRates('rates', rates);
  requireInRange('alpha', alpha, 0, 1);
  const measured = rates.filter((rate) => rate !== null);
  return mean(measured.map((rate) => Math.abs(rate - alpha)));
}

export type BandResidence = {
  /** Index of the first epoch whose trailing mean is in the band; null: never. */
  entry: number | null;
  /** Share of the trailing means in the band; null when there is none. */
  residence: number | null;
  /** The same from entry on; null without an entry. */
  afterEntry: number | null;
};

/**
 * How soon, and how much of the time, a run's success rate is in the band. `successRates` has one value an
 * epoch (null: not measured); what is judged is its trailing mean over `window` epochs, from the first full
 * window on, so that one lucky epoch is no entry. A window with nothing measured in it is not counted. Claim
 * C1 of the paper.
 */
export function bandResidence(
  successRates: readonly (number | null)[],
  { window, band = TARGET_BAND }: { window: number; band?: Band },
): BandResidence {
  requireInteger('window', window, 1);
  requireRates('successRates', successRates);
  const judged: { epoch: number; inside: boolean }[] = [];
  for (let epoch = window - 1; epoch < successRates.length; epoch++) {
    const recent = successRates.slice(epoch - window + 1, epoch + 1).filter((rate) => rate !== null);
    const level = mean(recent);
    if (level !== null) judged.push({ epoch, inside: isInBand(level, band) });
  }
  const entry = judged.find(({ inside }) => inside)?.epoch ?? null;
  const shareInside = (epochs: typeof judged) => mean(epochs.map(({ inside }) => (inside ? 1 : 0)));
  return {
    entry,
    residence: shareInside(judged),
    afterEntry: entry === null ? null : shareInside(judged.filter(({ epoch }) => epoch >= entry)),
  };
}

function requireRates(name: string, rates: readonly (number | null)[]): void {
  for (const [i, rate] of rates.entries()) {
    if (rate !== null) requireInRange(`${name}[${i}]`, rate, 0, 1);
  }
}
