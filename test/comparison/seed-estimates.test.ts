import { describe, expect, test } from 'vitest';
import {
  boundsOf,
  differenceText,
  estimateDifferenceOverSeeds,
  estimateOverSeeds,
  estimateText,
} from '../../src/comparison/seed-estimates.ts';

describe('an estimate over seeds, as tables show it', () => {
  test('has its interval cut where its values must lie, and only there', () => {
    expect(estimateText(estimateOverSeeds([0.01, 0.02, 0.09], boundsOf('share')))).toBe(
      '0.040 [0.000, 0.148]',
    );
    const change = boundsOf('change of a share');
    expect(estimateText(estimateOverSeeds([-0.06, -0.03, 0.01], change), 'change of a share')).toBe(
      '−0.027 [−0.114, 0.061]',
    );
    expect(() => estimateOverSeeds([0.2, -0.06], boundsOf('share'))).toThrow(
      'a value over seeds is -0.06, not within 0 to 1',
    );
  });

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
