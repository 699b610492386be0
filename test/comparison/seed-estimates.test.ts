import { describe, expect, test } from 'vitest';
import {
  differenceText,
  estimateDifferenceOverSeeds,
  estimateOverSeeds,
  estimateText,
} from '../../src/comparison/seed-estimates.ts';

describe('an estimate over seeds, as tables show it', () => {
  test('has its interval, none for a single seed and for seeds that are all alike', () => {
    expect(estimateText(estimateOverSeeds([0.4, 0.41, 0.42]))).toBe('0.410 [0.385, 0.435]');
    expect(estimateText(estimateOverSeeds([0.4]))).toBe('0.400');
    expect(estimateText(estimateOverSeeds([0.4, 0.4]))).toBe('0.400 (all seeds alike)');
  });

  test('has no interval of zero width where seeds differ by less than its digits', () => {
    expect(estimateText(estimateOverSeeds([0.4, 0.400001, 0.400002]))).toBe(
      '0.400 (seeds differ by less than is shown)',
    );
    const rounding = [-5.9e-10, -2.8e-9, -4.4e-9, 1.2e-9, 6.5e-9, -1.4e-9];
    expect(differenceText(estimateDifferenceOverSeeds(rounding))).toBe(
      '0.000 (seeds differ by less than is shown)',
    );
    expect(differenceText(estimateDifferenceOverSeeds(rounding), 'count')).toBe(
      '0 (seeds differ by less than is shown)',
    );
    expect(differenceText(estimateDifferenceOverSeeds([0.0004, 0.0012, 0.0002]))).toBe(
      '+0.001 [−0.001, 0.002]',
    );
  });
});
