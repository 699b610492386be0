import { describe, expect, it } from 'vitest';
import { findings, verdict } from '../../src/report/findings.ts';
import type { EpochRow } from '../../src/report/run-data.ts';
import type { Metrics } from '../../src/types/run-state.ts';
import { epochRow } from './epoch-row.ts';

const rowsOf = (metrics: Metrics[], first = 1): EpochRow[] =>
  metrics.map((epochMetrics, index) => epochRow(first + index, { metrics: epochMetrics }));
const rates = (values: (number | null)[]) => rowsOf(values.map((value) => ({ 'env/success_rate': value })));
const evaluated = (value: number, low: number | null, high: number | null): Metrics => ({
  'env/success_rate': 0.5,
  'eval/heldout': value,
  'eval/heldout_low': low,
  'eval/heldout_high': high,
});
const say = (rows: EpochRow[]) => verdict(findings(rows)).join(' ').replaceAll('\u202f', ' ');

describe('the band', () => {
  it('is entered by the 5-epoch mean, and judged over the second half', () => {
    const rows = rates([0, 0, 0, 0, 0, ...Array<number>(15).fill(0.5)]);
    // Means of epochs 6 to 9 are 0.1, 0.2, 0.3, 0.4; the second half starts with epoch 11.
    expect(findings(rows).success).toEqual({ start: 0, end: 0.5, entry: 9, residence: 1 });
    expect(say(rows)).toContain(
      'started at 0.00, entered [0.4, 0.6] in epoch 9 and was there in 100 % of the second half’s epochs (5-epoch mean).',
    );
  });

  it('counts each epoch of the second half, by the mean that ends there', () => {
    // Second half: epochs 11 to 20. Means there: six of 0.5, then 0.6, 0.7, 0.8, 0.9.
    const { success } = findings(rates([...Array<number>(16).fill(0.5), 1, 1, 1, 1]));
    expect(success?.residence).toBeCloseTo(0.7, 12);
  });

  it('says when the residence is too short to count as staying, and when the run ends outside', () => {
    const text = say(rates([...Array<number>(12).fill(0.5), ...Array<number>(8).fill(0.95)]));
    expect(text).toContain('started in [0.4, 0.6] (0.50) and was there in 30 %');
    expect(text).toContain('60 % would count as staying');
    expect(text).toContain('ending outside at 0.95');
  });

  it('says never where it never was', () => {
    expect(say(rates(Array<number>(20).fill(0.9)))).toContain(
      'started at 0.90, never entered [0.4, 0.6] (5-epoch mean), and ended at 0.90.',
    );
  });

  it('does not judge a run of a few epochs, nor one of none', () => {
    expect(say(rates([0.1, 0.2]))).toContain('Too early to judge: 2 epochs committed, success rate 0.15');
    expect(findings(rates([0.5, 0.5])).success?.residence).toBeNull();
    expect(say([])).toBe('No epoch has been committed yet: there is nothing to judge.');
  });

  it('says why a run of epochs without a valid task cannot be judged', () => {
    const invalid = { 'env/success_rate': null, 'env/invalid/cut_off': 11, 'env/invalid/not_json': 5 };
    expect(say(rowsOf([invalid, { ...invalid, 'env/invalid/empty': 2 }]))).toBe(
      '2 epochs are committed, and none of the 34 texts that the simulator wrote is a valid task ' +
        '(22 cut_off, 10 not_json, 2 empty): there is nothing to judge.',
    );
    expect(say(rates([null]))).toBe(
      '1 epoch is committed, and no task of the simulator was attempted: there is nothing to judge.',
    );
  });
});

describe('held-out success', () => {
  it.each([
    ['rose', evaluated(0.7, 0.65, 0.75), 'rose from 0.10 [0.07, 0.14] to 0.70 [0.65, 0.75] (epochs 1 to 2)'],
    ['fell', evaluated(0.03, 0.01, 0.06), 'fell from 0.10 [0.07, 0.14] to 0.03 [0.01, 0.06]'],
    [
      'did not clearly change',
      evaluated(0.13, 0.1, 0.17),
      'did not clearly change: from 0.10 [0.07, 0.14] to 0.13 [0.10, 0.17] (epochs 1 to 2), and the intervals overlap',
    ],
    [
      'has no interval',
      evaluated(0.7, null, null),
      'went from 0.10 [0.07, 0.14] to 0.70 (epochs 1 to 2); no interval is recorded',
    ],
  ])('%s', (_, last, expected) => {
    expect(say(rowsOf([evaluated(0.1, 0.07, 0.14), last]))).toContain(`Held-out success ${expected}`);
  });

  it.each([
    ['rose from 0.10 to 0.70 (epochs 1 to 2).', 0.7],
    ['fell from 0.10 to 0.05 (epochs 1 to 2).', 0.05],
    // Another number, but not to a reader of two decimals.
    ['did not change: from 0.10 to 0.10 (epochs 1 to 2).', 0.1004],
  ])('that was measured exactly %s', (expected, last) => {
    const exact = (value: number): Metrics => ({
      ...evaluated(0.5, 0.4, 0.6),
      'eval/heldout_probability': value,
    });
    expect(say(rowsOf([exact(0.1), exact(last)]))).toContain(`Held-out success ${expected}`);
  });

  it('of sampled evaluations that are equal is not said to be the same', () => {
    const rows = rowsOf([evaluated(0.1, 0.07, 0.14), evaluated(0.1, 0.07, 0.14)]);
    expect(say(rows)).toContain('did not clearly change');
  });

  it('is not compared with itself', () => {
    expect(say(rowsOf([evaluated(0.1, 0.07, 0.14)]))).toContain(
      'was 0.10 [0.07, 0.14] after epoch 1; there is no later evaluation',
    );
    expect(say(rates([0.5]))).toContain('Held-out success has not been evaluated.');
  });
});

describe('task difficulty', () => {
  const difficulty = (values: number[]) =>
    say(rowsOf(values.map((value) => ({ 'env/success_rate': 0.5, 'env/difficulty': value }))));
  const many = (value: number) => Array<number>(8).fill(value);

  it.each([
    ['rose from 4 to 11', [...many(4), ...many(11)]],
    ['fell from 11 to 4', [...many(11), ...many(4)]],
    ['stayed near 4', [...many(4), ...many(4)]],
    ['went from 14 down to 2 (epoch 13) and up to 11', [...many(14), ...many(2), ...many(11)]],
    ['went from 2 up to 14 (epoch 13) and down to 5', [...many(2), ...many(14), ...many(5)]],
  ])('%s', (expected, values) => {
    expect(difficulty(values)).toContain(`Mean task difficulty ${expected}.`);
  });
});
