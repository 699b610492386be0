import { bandResidence, isInBand, TARGET_BAND } from '../coevolution/success-band.ts';
import { mean } from '../numerics/arithmetic.ts';
import { formatNumber, formatPercent, formatRate } from './format.ts';
import { measuredValues, namesUnder, series, trainingRows } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** Share of the second half's epochs that counts as staying in the band (claim C1). */
export const RESIDENCE = 0.6;
const bandText = `[${TARGET_BAND.low}, ${TARGET_BAND.high}]`;

export interface HeldOutEvaluation {
  epoch: number;
  value: number;
  /** Of the 95 % interval; the value itself if it was measured exactly, and has no sampling noise. */
  low: number | null;
  high: number | null;
}

export interface Course {
  start: number;
  end: number;
  /** The extreme of the 5-epoch mean, if it went beyond both ends. */
  turn: { epoch: number; value: number } | null;
}

/**
 * What the run shows, as numbers. A start is the first epoch that measured, an end the mean of the last 5.
 */
export interface Findings {
  epochs: number;
  success: { start: number; end: number; entry: number | null; residence: number | null } | null;
  heldOut: { first: HeldOutEvaluation; last: HeldOutEvaluation } | null;
  /** Why the simulator's texts were no tasks, commonest first. */
  invalid: { reason: string; count: number }[];
  difficulty: Course | null;
  length: Course | null;
}

/** @param hasDifficulty whether the world says what its number of difficulty counts */
export function findings(rows: readonly EpochRow[], { hasDifficulty = true } = {}): Findings {
  const epochs = trainingRows(rows);
  const [first, ...later] = evaluationsOf(rows);
  return {
    epochs: epochs.length,
    success: successOf(epochs),
    heldOut: first === undefined ? null : { first, last: later.at(-1) ?? first },
    invalid: invalidOf(epochs),
    difficulty: hasDifficulty ? courseOf(epochs, 'env/difficulty') : null,
    length:
      courseOf(epochs, 'completions/correct_mean_length') ?? courseOf(epochs, 'completions/mean_length'),
  };
}

/** Held-out success by epoch: exact if it was measured so, else sampled. */
export function evaluationsOf(rows: readonly EpochRow[]): HeldOutEvaluation[] {
  return rows.flatMap(({ epoch, metrics }) => {
    const exact = metrics['eval/heldout_probability'];
    if (typeof exact === 'number') return [{ epoch, value: exact, low: exact, high: exact }];
    const value = metrics['eval/heldout'];
    if (value === null || value === undefined) return [];
    const low = metrics['eval/heldout_low'] ?? null;
    const high = metrics['eval/heldout_high'] ?? null;
    return [{ epoch, value, low, high }];
  });
}

function successOf(epochs: EpochRow[]): Findings['success'] {
  const rates = series(epochs, 'env/success_rate');
  const [start, end] = [measuredValues(rates)[0] ?? null, lastMean(rates)];
  if (start === null || end === null) return null;
  const entry = bandResidence(rates, { window: WINDOW }).entry;
  // The windows that end in the second half, so the first of them reaches back into the first half.
  const secondHalf = rates.slice(Math.max(0, Math.ceil(rates.length / 2) - WINDOW + 1));
  const residence =
    rates.length < 2 * WINDOW ? null : bandResidence(secondHalf, { window: WINDOW }).residence;
  return { start, end, entry: entry === null ? null : (epochs[entry]?.epoch ?? null), residence };
}

function invalidOf(epochs: EpochRow[]): Findings['invalid'] {
  const prefix = 'env/invalid/';
  return namesUnder(epochs, prefix)
    .map((reason) => ({
      reason,
      count: measuredValues(series(epochs, prefix + reason)).reduce((sum, count) => sum + count, 0),
    }))
    .toSorted((a, b) => b.count - a.count);
}

function courseOf(epochs: EpochRow[], name: string): Course | null {
  const values = series(epochs, name);
  const [start, end] = [measuredValues(values)[0] ?? null, lastMean(values)];
  if (start === null || end === null) return null;
  const margin = 0.15 * Math.max(Math.abs(start), Math.abs(end));
  let turn: Course['turn'] = null;
  let furthest = margin;
  const means = trailingMean(values);
  for (const [index, { epoch }] of epochs.entries()) {
    const value = means[index] ?? start;
    const beyond = Math.max(Math.min(start, end) - value, value - Math.max(start, end));
    if (beyond > furthest) [turn, furthest] = [{ epoch, value }, beyond];
  }
  return { start, end, turn };
}

/** The findings in sentences, each only as strong as the numbers are. */
export function verdict(results: Findings): string[] {
  const { success, epochs, heldOut, difficulty, invalid } = results;
  if (epochs === 0) return ['No epoch has been committed yet: there is nothing to judge.'];
  if (success === null) return [noTaskSentence(epochs, invalid)];
  return [
    bandSentence(success, epochs),
    heldOutSentence(heldOut),
    epochs < 2 * WINDOW ? null : courseSentence('Mean task difficulty', difficulty),
  ].filter((sentence) => sentence !== null);
}

function noTaskSentence(epochs: number, invalid: Findings['invalid']): string {
  const committed = `${epochs} epoch${epochs === 1 ? ' is' : 's are'} committed`;
  const total = invalid.reduce((sum, { count }) => sum + count, 0);
  if (total === 0)
    return `${committed}, and no task of the simulator was attempted: there is nothing to judge.`;
  const reasons = invalid.slice(0, 3).map(({ reason, count }) => `${count} ${reason}`);
  return (
    `${committed}, and none of the ${total} texts that the simulator wrote is a valid task ` +
    `(${reasons.join(', ')}): there is nothing to judge.`
  );
}

function bandSentence(
  { start, end, entry, residence }: NonNullable<Findings['success']>,
  epochs: number,
): string {
  if (epochs < 2 * WINDOW)
    return (
      `Too early to judge: ${epochs} epoch${epochs === 1 ? '' : 's'} committed, success rate ` +
      `${formatRate(end)} on the simulator’s tasks.`
    );
  const beginning = isInBand(start)
    ? `started in ${bandText} (${formatRate(start)})`
    : `started at ${formatRate(start)}`;
  if (entry === null)
    return (
      `Success on the simulator’s tasks ${beginning}, never entered ${bandText} (5-epoch mean), and ended at ` +
      `${formatRate(end)}.`
    );
  const entered = isInBand(start) ? '' : `, entered ${bandText} in epoch ${entry}`;
  const enough = (residence ?? 0) >= RESIDENCE;
  const required = enough ? '' : `; ${formatPercent(RESIDENCE)} would count as staying`;
  const stay = `was there in ${formatPercent(residence)} of the second half’s epochs (5-epoch mean${required})`;
  const ending = isInBand(end) ? '' : `, ending outside at ${formatRate(end)}`;
  return `Success on the simulator’s tasks ${beginning}${entered} and ${stay}${ending}.`;
}

/** Whether an evaluation has no sampling noise. */
export const isExact = ({ low, high }: HeldOutEvaluation): boolean => low !== null && low === high;

const withInterval = (evaluation: HeldOutEvaluation): string => {
  const { value, low, high } = evaluation;
  return low === null || high === null || isExact(evaluation)
    ? formatRate(value)
    : `${formatRate(value)} [${formatRate(low)}, ${formatRate(high)}]`;
};

/** How held-out success went, by the intervals: `unknown` without them, `unclear` if they overlap. */
export function heldOutChange(
  first: HeldOutEvaluation,
  last: HeldOutEvaluation,
): 'rose' | 'fell' | 'same' | 'unclear' | 'unknown' {
  if (first.low === null || first.high === null || last.low === null || last.high === null) return 'unknown';
  if (isExact(first) && isExact(last) && formatRate(first.value) === formatRate(last.value)) return 'same';
  if (last.low > first.high) return 'rose';
  return last.high < first.low ? 'fell' : 'unclear';
}

function heldOutSentence(heldOut: Findings['heldOut']): string {
  if (heldOut === null) return 'Held-out success has not been evaluated.';
  const { first, last } = heldOut;
  if (first.epoch === last.epoch)
    return (
      `Held-out success was ${withInterval(first)} after epoch ${first.epoch}; there is no later evaluation ` +
      'to compare with.'
    );
  const values = `from ${withInterval(first)} to ${withInterval(last)} (epochs ${first.epoch} to ${last.epoch})`;
  switch (heldOutChange(first, last)) {
    case 'unknown':
      return `Held-out success went ${values}; no interval is recorded, so this may be noise.`;
    case 'same':
      return `Held-out success did not change: ${values}.`;
    case 'rose':
      return `Held-out success rose ${values}.`;
    case 'fell':
      return `Held-out success fell ${values}.`;
    case 'unclear':
      return `Held-out success did not clearly change: ${values}, and the intervals overlap.`;
  }
}

function courseSentence(what: string, course: Course | null): string | null {
  if (course === null) return null;
  const { start, end, turn } = course;
  if (turn !== null) {
    const [outward, back] = turn.value < start ? ['down', 'up'] : ['up', 'down'];
    return (
      `${what} went from ${formatNumber(start)} ${outward} to ${formatNumber(turn.value)} ` +
      `(epoch ${turn.epoch}) and ${back} to ${formatNumber(end)}.`
    );
  }
  if (Math.abs(end - start) < 0.1 * Math.max(Math.abs(start), Math.abs(end)))
    return `${what} stayed near ${formatNumber(end)}.`;
  return `${what} ${end > start ? 'rose' : 'fell'} from ${formatNumber(start)} to ${formatNumber(end)}.`;
}

/** Number of epochs that the report averages over; claim C1 is judged by it. */
export const WINDOW = 5;

/** Mean of each value and the up to `window - 1` before it; null if none was measured. */
export function trailingMean(values: readonly (number | null)[], window = WINDOW): (number | null)[] {
  return values.map((_, index) =>
    mean(measuredValues(values.slice(Math.max(0, index - window + 1), index + 1))),
  );
}

/** Mean of the last `count` measured values. */
export const lastMean = (values: readonly (number | null)[], count = WINDOW): number | null =>
  mean(measuredValues(values).slice(-count));
