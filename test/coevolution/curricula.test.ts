import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  drawLevels,
  openWindow,
  updateWindow,
  windowLevels,
} from '../../src/coevolution/arms/difficulty-window.ts';
import { mixLevels, openOracle, updateOracle } from '../../src/coevolution/arms/difficulty-oracle.ts';
import { selectParents } from '../../src/coevolution/arms/evolved.ts';
import { predictedSuccess, selectCandidates } from '../../src/coevolution/arms/selection.ts';
import { poolDraw } from '../../src/coevolution/training-pool.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import { randomStream } from '../../src/numerics/random.ts';

describe('drawing from a data set', () => {
  const epochs = (size: number, count: number, upTo: number) =>
    Array.from({ length: upTo }, (_, index) => poolDraw(size, { count, epoch: index + 1, seed: 3 }));

  it('takes every task once before any again, and none twice in an epoch', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 8 }),
        (size, count, upTo) => {
          const drawn = epochs(size, count, upTo);
          for (const epoch of drawn) {
            expect(epoch).toHaveLength(count);
            expect(new Set(epoch).size).toBe(Math.min(size, count));
          }
          const times = Array.from(
            { length: size },
            (_, index) => drawn.flat().filter((at) => at === index).length,
          );
          expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('shuffles each pass anew, by the seed alone', () => {
    const [first, second] = epochs(30, 30, 2);
    expect(first).not.toEqual(second);
    expect(poolDraw(30, { count: 30, epoch: 1, seed: 3 })).toEqual(first);
    expect(poolDraw(30, { count: 30, epoch: 1, seed: 4 })).not.toEqual(first);
    expect(poolDraw(0, { count: 5, epoch: 1, seed: 3 })).toEqual([]);
  });
});

describe('predicted success', () => {
  const seen = (kind: string, difficulty: number, successes: number, epoch = 1) => ({
    kind,
    difficulty,
    successes,
    attempts: 8,
    epoch,
  });
  const settings = { epoch: 1, bandwidth: 1 };

  it('is null before anything was seen, and the rate of its like afterwards', () => {
    expect(predictedSuccess({ kind: 'T', difficulty: 3 }, [], settings)).toBeNull();
    // (8 + 1) / (8 + 1): all attempts at the same task succeeded.
    expect(predictedSuccess({ kind: 'T', difficulty: 3 }, [seen('T', 3, 8)], settings)).toBe(1);
    // By hand: w = exp(-1/2) at a distance of one bandwidth, p0 = 1/2: (8 + 0 + 1/2) / (8 + 8w + 1).
    expect(
      predictedSuccess({ kind: 'T', difficulty: 3 }, [seen('T', 3, 8), seen('T', 4, 0)], settings),
    ).toBeCloseTo(8.5 / (9 + 8 * Math.exp(-0.5)), 12);
    // Another kind counts a quarter; an epoch of age 0.7.
    expect(
      predictedSuccess({ kind: 'T', difficulty: 3 }, [seen('T', 3, 8), seen('U', 3, 0)], settings),
    ).toBeCloseTo(8.5 / 11, 12);
    expect(
      predictedSuccess({ kind: 'T', difficulty: 3 }, [seen('T', 3, 8), seen('T', 3, 0)], {
        epoch: 2,
        bandwidth: 1,
      }),
    ).toBeCloseTo((5.6 + 0.5) / 12.2, 12);
  });

  it('far from everything is the overall rate', () => {
    expect(
      predictedSuccess({ kind: 'T', difficulty: 90 }, [seen('T', 3, 2), seen('U', 4, 4)], settings),
    ).toBeCloseTo(6 / 16, 12);
  });
});

describe('selection of candidates', () => {
  const candidates = (...predicted: (number | null)[]) =>
    predicted.map((p) => ({ predicted: p, usable: true }));

  it('takes the largest p(1-p), the unknown as 1/2', () => {
    expect(selectCandidates(candidates(0.1, 0.5, 0.9, 0.45, 1), 2, randomStream(1))).toEqual([1, 3]);
    expect(selectCandidates(candidates(0.1, null, 0.9, 0.45, 1), 2, randomStream(1))).toEqual([1, 3]);
  });

  it('leaves what is not usable for last', () => {
    const candidates = [
      { predicted: 0.5, usable: false },
      { predicted: 0.01, usable: true },
      { predicted: 0, usable: false },
    ];
    expect(selectCandidates(candidates, 1, randomStream(1))).toEqual([1]);
    expect(selectCandidates(candidates, 2, randomStream(1))).toEqual([0, 1]);
  });

  it('draws among ties', () => {
    const picked = new Set(
      Array.from(
        { length: 40 },
        (_, seed) => selectCandidates(candidates(0.5, 0.5, 0.5, 0.5), 1, randomStream(seed))[0],
      ),
    );
    expect(picked).toEqual(new Set([0, 1, 2, 3]));
  });
});

describe('the hand-set window', () => {
  const settings = { start: 1, raiseAt: 0.9, step: 1, levels: 4, minAttempts: 64 };
  const at = (difficulty: number, successes: number, attempts: number) => ({
    difficulty,
    successes,
    attempts,
  });

  it('starts with one level and keeps four', () => {
    expect(windowLevels(openWindow(settings), settings)).toEqual([1]);
    expect(windowLevels({ hardest: 3, successes: 0, attempts: 0 }, settings)).toEqual([1, 2, 3]);
    expect(windowLevels({ hardest: 9, successes: 0, attempts: 0 }, settings)).toEqual([6, 7, 8, 9]);
    expect(drawLevels([6, 7, 8, 9], 10, randomStream(1)).toSorted()).toEqual([6, 6, 6, 7, 7, 7, 8, 8, 9, 9]);
  });

  it('rises at 0.9 of the hardest level alone, once that was attempted often enough', () => {
    const open = openWindow(settings);
    expect(updateWindow(open, [at(1, 58, 64)], settings)).toEqual({ hardest: 2, successes: 0, attempts: 0 });
    expect(updateWindow(open, [at(1, 57, 64)], settings)).toEqual({ hardest: 1, successes: 0, attempts: 0 });
    expect(updateWindow(open, [at(1, 30, 32)], settings)).toEqual({
      hardest: 1,
      successes: 30,
      attempts: 32,
    });
    expect(updateWindow({ hardest: 1, successes: 30, attempts: 32 }, [at(1, 30, 32)], settings).hardest).toBe(
      2,
    );
    expect(
      updateWindow({ hardest: 5, successes: 0, attempts: 0 }, [at(4, 64, 64), at(5, 0, 64)], settings)
        .hardest,
    ).toBe(5);
  });

  it('keeps success at a target p: it rises at `raiseAt` and falls below `lowerAt`, not below the start', () => {
    const target = { ...settings, raiseAt: 0.5, lowerAt: 0.3 };
    const from = (hardest: number) => ({ hardest, successes: 0, attempts: 0 });
    expect(updateWindow(from(4), [at(4, 32, 64)], target).hardest).toBe(5);
    expect(updateWindow(from(4), [at(4, 31, 64)], target).hardest).toBe(4);
    expect(updateWindow(from(4), [at(4, 19, 64)], target)).toEqual(from(3));
    expect(updateWindow(from(1), [at(1, 0, 64)], target)).toEqual(from(1));
    // A success curve that falls by .1 a level: p = .5 at level 6, whatever the level it starts at.
    for (const start of [2, 6, 9]) {
      let state = from(start);
      for (let epoch = 0; epoch < 20; epoch++)
        state = updateWindow(
          state,
          [at(state.hardest, Math.round(640 * (1.1 - 0.1 * state.hardest)), 640)],
          target,
        );
      expect([7, 8]).toContain(state.hardest);
    }
  });
});

describe('the next generation', () => {
  const record = (signature: string, env_reward: number, guard = 1, epoch = 1) => ({
    epoch,
    signature,
    env_reward,
    guard,
  });
  const parents = (records: Parameters<typeof selectParents>[0], count: number, seed = 1) =>
    selectParents(records, count, randomStream(seed)).map(({ signature }) => signature);

  it('varies the tasks with the largest R_env, each once and by its newest record', () => {
    const records = [
      record('a', 0.9),
      record('b', 0.5),
      record('a', 0.2),
      record('c', 0.7),
      record('d', 1, 0),
    ];
    expect(parents(records, 2)).toEqual(['c', 'b']);
    expect(parents(records, 9)).toEqual(['c', 'b', 'a']);
    expect(parents([], 3)).toEqual([]);
  });

  it('prefers the newest of equals', () => {
    expect(parents([record('a', 1, 1, 1), record('b', 1, 1, 3), record('c', 1, 1, 2)], 2)).toEqual([
      'b',
      'c',
    ]);
  });

  it('draws among ties', () => {
    const tied = [record('a', 0.1), record('b', 0.1), record('c', 0.1)];
    const picked = Array.from({ length: 40 }, (_, seed) => parents(tied, 1, seed)[0]);
    expect(new Set(picked)).toEqual(new Set(['a', 'b', 'c']));
  });
});

describe('the oracle', () => {
  const settings = { alpha: 0.5, gain: 2 };
  /** Epochs of 32 tasks with 8 attempts each, whose success is expected, not drawn. */
  const settle = (
    p: (difficulty: number) => number,
    levels: [number, number],
    epochs = 40,
    options = settings,
  ) => {
    let state = openOracle({ start: 1 });
    let success = 0;
    for (let epoch = 0; epoch < epochs; epoch++) {
      const outcomes = mixLevels(state.difficulty, 1, 32).map((level) => {
        const difficulty = Math.max(levels[0], Math.min(levels[1], level));
        return { difficulty, attempts: 8000, successes: Math.round(8000 * p(difficulty)) };
      });
      success = mean(outcomes.map(({ successes, attempts }) => successes / attempts))!;
      state = updateOracle(state, outcomes, options);
    }
    return { success, difficulty: state.difficulty };
  };

  it('mixes two neighbouring levels so that their mean is the difficulty', () => {
    expect(mixLevels(2.75, 1, 4)).toEqual([2, 3, 3, 3]);
    expect(mixLevels(3, 1, 3)).toEqual([3, 3, 3]);
    expect(mixLevels(5, 4, 4)).toEqual([4, 4, 4, 8]);
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 30, noNaN: true }),
        fc.integer({ min: 1, max: 64 }),
        (d, count) => {
          const levels = mixLevels(d, 1, count);
          expect(levels).toHaveLength(count);
          expect(Math.abs(mean(levels)! - d)).toBeLessThanOrEqual(0.5 / count + 1e-9);
        },
      ),
    );
  });

  it('changes difficulty by exp(gain (p̂ - α)), from what was measured', () => {
    const outcomes = [
      { difficulty: 2, successes: 8, attempts: 8 },
      { difficulty: 4, successes: 4, attempts: 8 },
    ];
    // By hand: d = 3, p̂ = 3/4.
    expect(updateOracle({ difficulty: 99 }, outcomes, settings).difficulty).toBeCloseTo(
      3 * Math.exp(0.5),
      12,
    );
    expect(updateOracle({ difficulty: 99 }, [], settings)).toEqual({ difficulty: 99 });
  });

  it.each([0.65, 0.8, 0.9, 0.96, 0.98])('settles at α where p = %f^d', (q) => {
    const { success, difficulty } = settle((d) => q ** d, [1, 64]);
    expect(Math.abs(success - 0.5)).toBeLessThan(0.03);
    expect(Math.abs(difficulty - Math.log(0.5) / Math.log(q))).toBeLessThan(0.5);
  });

  it('settles at another α', () => {
    const { success } = settle((d) => 0.9 ** d, [1, 64], 40, { alpha: 0.8, gain: 2 });
    expect(Math.abs(success - 0.8)).toBeLessThan(0.03);
  });

  it('winds nothing up while the world has no harder task', () => {
    let state = { difficulty: 8 };
    const hardest = [{ difficulty: 8, successes: 8, attempts: 8 }];
    for (let epoch = 0; epoch < 50; epoch++) state = updateOracle(state, hardest, settings);
    expect(state.difficulty).toBeCloseTo(8 * Math.E, 9);
    state = updateOracle(state, [{ difficulty: 8, successes: 2, attempts: 8 }], settings);
    expect(state.difficulty).toBeLessThan(8);
  });
});
