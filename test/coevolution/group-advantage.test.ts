import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupAdvantages } from '../../src/coevolution/group-advantage.ts';

const rewards = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 16 });

describe('groupAdvantages', () => {
  it('is the distance to the mean', () => {
    const group = groupAdvantages([1, 0, 0, 0], { scaleByStd: false });
    expect(group).toEqual({
      advantages: [0.75, -0.25, -0.25, -0.25],
      mean: 0.25,
      std: 0.5,
      informative: true,
    });
  });

  it('is divided by the unbiased standard deviation + 1e-4', () => {
    // Variance (0.75² + 3 * 0.25²) / 3 = 0.25, std 0.5: 0.75 / 0.5001 and -0.25 / 0.5001.
    const { advantages } = groupAdvantages([1, 0, 0, 0], { scaleByStd: true });
    expect(advantages[0]).toBeCloseTo(0.75 / 0.5001, 12);
    expect(advantages[1]).toBeCloseTo(-0.25 / 0.5001, 12);
  });

  it('equals TRL 1.16: (r - mean) / (nanstd + 1e-4), by torch in float64', () => {
    const { advantages, std } = groupAdvantages([1, 0, 0, 0, 0.5, 0.25, 1, 1], { scaleByStd: true });
    expect(std).toBeCloseTo(0.47127297215702313, 14);
    const torch = [
      1.1270268585171037, -0.9944354633974445, -0.9944354633974445, -0.9944354633974445, 0.06629569755982964,
      -0.46406988291880746, 1.1270268585171037, 1.1270268585171037,
    ];
    for (const [i, expected] of torch.entries()) expect(advantages[i]).toBeCloseTo(expected, 12);
  });

  it('has nothing to say about a group of equal rewards', () => {
    // 0.1 + 0.1 + 0.1 over 3 is not 0.1: the advantages must be 0 all the same.
    for (const equal of [[0, 0, 0], [1, 1], [0.1, 0.1, 0.1], [0.7]]) {
      const group = groupAdvantages(equal, { scaleByStd: true });
      expect(group.informative).toBe(false);
      expect(group.std).toBe(0);
      expect(group.advantages).toEqual(equal.map(() => 0));
    }
    expect(groupAdvantages([], { scaleByStd: true })).toEqual({
      advantages: [],
      mean: null,
      std: 0,
      informative: false,
    });
  });

  it('sums to 0, keeps the order of the rewards, and ignores a shift', () => {
    fc.assert(
      fc.property(rewards, fc.boolean(), fc.integer({ min: -5, max: 5 }), (group, scaleByStd, shift) => {
        const { advantages } = groupAdvantages(group, { scaleByStd });
        expect(advantages.reduce((sum, advantage) => sum + advantage, 0)).toBeCloseTo(0, 6);
        for (const [i, advantage] of advantages.entries()) {
          for (const [j, advantage2] of advantages.entries()) {
            if ((group[i] ?? 0) > (group[j] ?? 0)) expect(advantage).toBeGreaterThanOrEqual(advantage2);
          }
        }
        const shifted = groupAdvantages(
          group.map((reward) => reward + shift),
          { scaleByStd: false },
        );
        const plain = groupAdvantages(group, { scaleByStd: false });
        for (const [i, advantage] of shifted.advantages.entries())
          expect(advantage).toBeCloseTo(plain.advantages[i] ?? NaN, 9);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => groupAdvantages([0, NaN], { scaleByStd: true })).toThrow(
      'rewards[1] must be a finite number, got NaN',
    );
  });
});
