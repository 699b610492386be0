import { describe, expect, test } from 'vitest';
import { finishInSlices } from '../../src/async/long-computation.ts';
import { TimeSlices } from '../../src/async/time-slices.ts';
import { inOwnUnits, signalFit } from '../../src/comparison/theory/gradient-signal.ts';
import type { SignalTask } from '../../src/comparison/theory/gradient-signal.ts';
import { stratifiedSignal } from '../../src/comparison/theory/stratified-signal.ts';
import { computeMisranking, misranking, misrankProbability } from '../../src/comparison/theory/ranking.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { evenlyWithin, spread } from '../../src/numerics/spacing.ts';

const settings = { alpha: 0.5, minGap: 0.1, sizes: [4, 8, 16, 32, 64], seed: 3 };
/** Attempts of which the first half has the given number of successes. */
const half = (successes: number, count: number): boolean[] =>
  Array.from({ length: count }, (_, i) => i < successes);

describe('misranking', () => {
  test('lets other work run after each task of each order, and can be cancelled there', async () => {
    const random = randomStream(5);
    const tasks = Array.from({ length: 30 }, (_, i) =>
      Array.from({ length: 32 }, () => random.next() < i / 30),
    );
    const by = { ...settings, sizes: [4], orders: 20 };
    const steps = computeMisranking([tasks], by);
    let rests = 0;
    while (steps.next().done !== true) rests += 1;
    expect(rests).toBeGreaterThan(20 * tasks.length);
    expect(await finishInSlices(computeMisranking([tasks], by), new TimeSlices())).toEqual(
      misranking([tasks], by),
    );
    class ShortSlices extends TimeSlices {
      override get isOver(): boolean {
        return true;
      }
    }
    const cancelled = new ShortSlices((slices) => {
      if (slices === 3) throw new Error('cancelled');
    });
    await expect(finishInSlices(computeMisranking([tasks], by), cancelled)).rejects.toThrow('cancelled');
  });

  test('is what brute force over all outcomes says, and the bound is at most 1', () => {
    // Every outcome of 2 attempts at each of two tasks as the second halves of as many groups, weighted by
    // how often it stands there.
    const outcomes = [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ];
    const groups = outcomes.flatMap((near) =>
      outcomes.map((far) => [
        [true, false, ...near],
        [true, true, ...far],
      ]),
    );
    const [row] = misranking(groups, { ...settings, sizes: [2] });
    // Near, p̂ = 0.5, is ranked right where it has 1 of 2 and far, p̂ = 1, has 0 or 2: 2 of 4 times 2 of 4.
    expect(row).toMatchObject({ n: 2, pairs: 16, rankings: 16, measured: 12 / 16, bound: 1 });
    expect(row!.exact).toBeCloseTo(misrankProbability(0.5, 1, 2), 12);
  });

  test('cuts the second half into disjoint samples, and ranks the i-th of both', () => {
    // Near: 2, 2 of 4; far: 4, 2 of 4. The first pair is right, the second a tie.
    const near = [...half(4, 8), ...half(2, 4), ...half(2, 4)];
    const far = [...half(8, 8), ...half(4, 4), ...half(2, 4)];
    const rows = misranking([[near, far]], settings);
    expect(rows.map(({ n, rankings, measured }) => [n, rankings, measured])).toEqual([
      [4, 2, 0.5],
      [8, 1, 0],
    ]);
  });

  test('which is nearer is told by the first half alone, and pairs that are too close are left out', () => {
    const tasks = [
      [...half(8, 16), ...half(16, 16)],
      [...half(9, 16), ...half(16, 16)],
      [...half(16, 16), ...half(8, 16)],
    ];
    const [row] = misranking([tasks], { ...settings, sizes: [16] });
    // 8 and 9 of 16 are 1/16 apart; against both the third looks farther by its first half and is nearer by
    // its second.
    expect(row).toMatchObject({ pairs: 2, measured: 1 });
    expect(misranking([tasks.slice(0, 2)], settings)).toEqual([]);
    expect(misranking([], settings)).toEqual([]);
    expect(() => misranking([tasks], { ...settings, minGap: 0 })).toThrow(
      'minGap must be a finite number above 0, got 0',
    );
  });

  test('of attempts that are binomial, lies in its range and under the bound; of attempts that hang together, does not', () => {
    const random = randomStream(12);
    const rates = Array.from({ length: 40 }, () => random.next());
    const honest = rates.map((p) => Array.from({ length: 128 }, () => random.next() < p));
    const rows = misranking([honest], settings);
    expect(rows.map(({ n }) => n)).toEqual([4, 8, 16, 32, 64]);
    for (const { measured, exact, low, high, bound } of rows) {
      expect(measured).toBeGreaterThanOrEqual(low);
      expect(measured).toBeLessThanOrEqual(high);
      expect(measured).toBeLessThanOrEqual(bound);
      expect(Math.abs(measured - exact)).toBeLessThan(0.1);
      expect(high - low).toBeLessThan(0.2);
    }
    // One draw for 16 attempts: 16 of them say no more than one.
    const bursts = rates.map((p) =>
      Array.from({ length: 8 }, () => random.next() < p).flatMap((solved) =>
        new Array<boolean>(16).fill(solved),
      ),
    );
    expect(
      misranking([bursts], settings).filter(({ measured, high }) => measured > high).length,
    ).toBeGreaterThan(2);
  });

  test('what is expected is the mean over all orders of the attempts', () => {
    // 2 of 4 makes a pair with 4 of 4 in 4 of 6 orders, ranked right in all; 3 of 4 in half of its orders, never.
    const never = [half(4, 4), [true, false, true, false]];
    const always = [half(4, 4), [true, false, true, true]];
    const groups = Array.from({ length: 600 }, (_, index) => (index % 2 === 0 ? never : always));
    const [row] = misranking(groups, { ...settings, sizes: [2], orders: 99 });
    expect(row!.expected).toBeCloseTo(1 / 2 / (1 / 2 + 2 / 3), 2);
    expect((row!.low + row!.high) / 2).toBeCloseTo(row!.expected, 9);
  });

  test('of binomial attempts at tasks that were screened as probes are, all sizes lie in the range in about 99 of 100 cases', () => {
    const random = randomStream(23);
    const draw = (p: number, count: number): boolean[] =>
      Array.from({ length: count }, () => random.next() < p);
    // Most candidates are hardly ever or nearly always solved; eight attempts sort them into classes of k.
    const screened = (): boolean[][] => {
      const candidates = Array.from({ length: 64 }, () => random.next() ** 3).map((p, index) =>
        index % 2 === 0 ? p : 1 - p,
      );
      const classes = Array.from({ length: 9 }, (): number[] => []);
      for (const p of candidates) classes[draw(p, 8).filter(Boolean).length]!.push(p);
      return spread(classes, 18).map((p) => draw(p, 64));
    };
    const inside = Array.from({ length: 100 }, (_, seed) =>
      misranking([screened()], { ...settings, sizes: [4, 8, 16, 32], seed, orders: 99 }),
    ).filter((rows) => rows.every(({ measured, low, high }) => measured >= low && measured <= high));
    expect(inside.length).toBeGreaterThanOrEqual(97);
  }, 300_000);

  test('the exact column is the table that ships with the claim', () => {
    for (const [far, row] of [
      [144, [0.315, 0.102, 0.013, 0]],
      [120, [0.544, 0.365, 0.177, 0.047]],
      [96, [0.677, 0.604, 0.515, 0.401]],
    ] as const) {
      const rows = misranking(
        [
          [
            [...half(80, 160), ...half(0, 160)],
            [...half(far, 160), ...half(0, 160)],
          ],
        ],
        { ...settings, sizes: [4, 8, 16, 32] },
      );
      for (const [i, expected] of row.entries()) expect(rows[i]!.exact).toBeCloseTo(expected, 3);
    }
  });
});

describe('the signal among answers of like length', () => {
  const random = randomStream(3);
  /** Hard tasks have long answers, and a long answer has as much longer a gradient. */
  const agent = (norm: (p: number) => number): SignalTask[] =>
    Array.from({ length: 400 }, () => random.next()).map((p) => {
      const tokens = p < 0.5 && random.next() < 0.8 ? 30 : 10;
      const noise = 0.9 + 0.2 * random.next();
      return { p, norm: tokens * noise * norm(p), score: tokens, tokens };
    });
  const judge = (norm: (p: number) => number) =>
    stratifiedSignal([agent(norm), agent(norm)], { seed: 1, middle: { low: 0.4, high: 0.6 } })!;

  test('follows p(1-p) where it does so for every length, though not for all together', () => {
    const tasks = agent((p) => p * (1 - p));
    expect(signalFit(inOwnUnits(tasks))!.r2).toBeLessThan(0.6);
    const { r2, low, high, middle } = judge((p) => p * (1 - p));
    expect(low).toBeGreaterThan(0.8);
    expect(r2).toBeGreaterThan(low);
    expect(high).toBeGreaterThan(r2);
    expect(middle).toBeGreaterThan(0.9);
  });

  test('does not where it does not, and says how sure that is', () => {
    expect(judge(() => 1).high).toBeLessThan(0.3);
    expect(judge((p) => p ** 2 * (1 - p)).middle).toBeLessThan(0.2);
    expect(stratifiedSignal([[]], { seed: 1, middle: { low: 0.4, high: 0.6 } })).toBeNull();
  });
});

describe('signalFit', () => {
  const tasks = (norm: (p: number) => number): SignalTask[] =>
    Array.from({ length: 100 }, (_, i) => (i + 0.5) / 100).map((p) => ({
      p,
      norm: norm(p),
      score: 4,
      tokens: 10 * p,
    }));

  test('of norms that are c p(1-p): the slope is c, R² is 1 and the largest bin is in the middle', () => {
    const fit = signalFit(tasks((p) => 3 * p * (1 - p)))!;
    expect(fit.slope).toBeCloseTo(3, 12);
    expect(fit.r2).toBeCloseTo(1, 12);
    expect([fit.peak.low, fit.peak.high]).toEqual([0.4, 0.5]);
    expect(fit.bins).toHaveLength(10);
    expect(fit.bins[7]).toMatchObject({ tasks: 10, score: 4 });
    expect(fit.bins[7]!.p).toBeCloseTo(0.75, 12);
    expect(fit.bins[7]!.tokens).toBeCloseTo(7.5, 12);
  });

  test('of other norms: the normal equation by hand, and R² below 0 where a constant fits better', () => {
    const two = [
      { p: 0.5, norm: 1, score: 1, tokens: 1 },
      { p: 0.1, norm: 0, score: 1, tokens: 1 },
    ];
    // c = (.25 · 1 + .09 · 0) / (.25² + .09²) = 3.541077; rest (1 - .885269)² + .318697² over .5.
    const fit = signalFit(two)!;
    expect(fit.slope).toBeCloseTo(3.541077, 5);
    expect(fit.r2).toBeCloseTo(1 - (0.013163 + 0.101568) / 0.5, 4);
    expect(signalFit(tasks((p) => 1 + (p - 0.5) ** 2))!.r2).toBeLessThan(0);
    expect(signalFit(tasks((p) => p))!.peak.high).toBe(1);
  });

  test('tasks weigh alike in their bin, bins without tasks count for nothing, and 1 is in the last', () => {
    const fit = signalFit([
      { p: 0.3, norm: 1, score: 1, tokens: 1 },
      { p: 0.38, norm: 3, score: 1, tokens: 1 },
      { p: 1, norm: 0, score: 1, tokens: 1 },
    ])!;
    expect(fit.bins.map(({ tasks: count }) => count)).toEqual([0, 0, 0, 2, 0, 0, 0, 0, 0, 1]);
    expect(fit.bins[3]!.norm).toBe(2);
    expect(signalFit([])).toBeNull();
    expect(signalFit([{ p: 0.5, norm: 1, score: 1, tokens: 1 }])).toBeNull();
    expect(() => signalFit([{ p: 1.1, norm: 1, score: 1, tokens: 1 }])).toThrow(
      'tasks[0].p must be in [0, 1], got 1.1',
    );
  });

  test('agents are laid over each other in units of their own mean norm of ∇ log π', () => {
    const own = inOwnUnits([
      { p: 0.5, norm: 2, score: 4, tokens: 1 },
      { p: 0.2, norm: 3, score: 12, tokens: 1 },
    ]);
    expect(own.map(({ norm, score }) => [norm, score])).toEqual([
      [0.25, 0.5],
      [0.375, 1.5],
    ]);
    expect(inOwnUnits([])).toEqual([]);
  });
});

test('spread takes one of each class in turn, until there are enough', () => {
  expect(spread([['a', 'b', 'c'], [], ['d'], ['e', 'f']], 5)).toEqual(['a', 'd', 'e', 'b', 'f']);
  expect(spread([['a'], ['b']], 5)).toEqual(['a', 'b']);
  expect(spread([], 3)).toEqual([]);
});

test('evenlyWithin leaves both ends out', () => {
  expect(evenlyWithin(80, 1)).toEqual([40]);
  expect(evenlyWithin(80, 3)).toEqual([20, 40, 60]);
  expect(evenlyWithin(2, 1)).toEqual([1]);
});
