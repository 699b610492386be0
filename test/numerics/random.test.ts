import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveSeed, randomStream } from '../../src/numerics/random.ts';

const part = fc.oneof(fc.maxSafeInteger(), fc.string());

describe('deriveSeed', () => {
  it('is the first 48 bits of SHA-256 of the JSON array', () => {
    // Python: int.from_bytes(sha256(json.dumps([...], separators=(",", ":"),
    // ensure_ascii=False).encode()).digest()[:6], "big")
    expect(deriveSeed(1)).toBe(8841707399253);
    expect(deriveSeed('1')).toBe(74621739171189);
    expect(deriveSeed('smoke', 'rollout', 12, 5, 3)).toBe(34707908028525);
    expect(deriveSeed(0, 'ünï', -1)).toBe(172145164834352);
  });

  it('keeps apart what concatenation would confuse', () => {
    const seeds = [
      deriveSeed('a', 'b'),
      deriveSeed('ab'),
      deriveSeed('a', 'b', ''),
      deriveSeed('a","b'),
      deriveSeed(1, 12),
      deriveSeed(11, 2),
      deriveSeed(1, '12'),
    ];
    expect(new Set(seeds).size).toBe(seeds.length);
  });

  it('differs wherever the path differs, and fits a double', () => {
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1 }),
        fc.array(part, { minLength: 1 }),
        ([root = 0, ...path], [otherRoot = 0, ...way]) => {
          const seed = deriveSeed(root, ...path);
          expect(Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 48).toBe(true);
          const same = JSON.stringify([root, ...path]) === JSON.stringify([otherRoot, ...way]);
          expect(seed === deriveSeed(otherRoot, ...way)).toBe(same);
        },
      ),
    );
  });

  it('refuses numbers whose text is not the same everywhere', () => {
    expect(() => deriveSeed(0.5)).toThrow('root must be an integer of at least -9007199254740991, got 0.5');
    expect(() => deriveSeed('x', 1, NaN)).toThrow('path[1]');
    expect(() => deriveSeed('x', 2 ** 53)).toThrow('got 9007199254740992');
  });
});

describe('randomStream', () => {
  it('is sfc32', () => {
    // An independent implementation in Python, seeds 0, 42 and 2^48 - 1; int(2^32) is the raw output.
    const words = (seed: number) => {
      const stream = randomStream(seed);
      return [1, 2, 3, 4].map(() => stream.int(2 ** 32));
    };
    expect(words(0)).toEqual([1363572419, 145230303, 808754475, 4216505632]);
    expect(words(42)).toEqual([1264412219, 1947509147, 3919439299, 1251167922]);
    expect(words(2 ** 48 - 1)).toEqual([4250988056, 3795167717, 3629355664, 802574710]);
    const stream = randomStream(42);
    expect([stream.next(), stream.next(), stream.next()]).toEqual([
      0.29439390788555, 0.9125655762203799, 0.15283040785296254,
    ]);
  });

  it('repeats with its seed, and has no state outside', () => {
    const left = randomStream(7);
    const right = randomStream(7);
    const draws = Array.from({ length: 20 }, () => left.next());
    expect(Array.from({ length: 20 }, () => right.next())).toEqual(draws);
    expect(new Set(draws).size).toBe(20);
  });

  it('is uniform', () => {
    // 30,000 draws in 6 cells: expected 5,000, standard deviation 65; 5 of those either way.
    const stream = randomStream(1);
    const cells = [0, 0, 0, 0, 0, 0];
    for (let i = 0; i < 30_000; i++) {
      const cell = stream.int(6);
      cells[cell] = (cells[cell] ?? 0) + 1;
    }
    for (const count of cells) expect(Math.abs(count - 5000)).toBeLessThan(325);
    // The mean of 30,000 uniforms: 0.5, standard deviation 0.0017.
    const draws = Array.from({ length: 30_000 }, () => stream.next());
    expect(Math.abs(draws.reduce((sum, draw) => sum + draw, 0) / 30_000 - 0.5)).toBeLessThan(0.009);
    expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...draws)).toBeLessThan(1);
  });

  it('has no modulo bias', () => {
    // n = 3 * 2^30: a plain remainder would land in the first third of the range in half of the draws.
    const stream = randomStream(2);
    const third = Array.from({ length: 6000 }, () => stream.int(3 * 2 ** 30)).filter(
      (draw) => draw < 2 ** 30,
    ).length;
    expect(Math.abs(third - 2000)).toBeLessThan(5 * 37);
  });

  it('shuffles into every order, each as often', () => {
    // 6 orders of 3 items in 6,000 shuffles: expected 1,000, standard deviation 29.
    const stream = randomStream(3);
    const orders = new Map<string, number>();
    for (let i = 0; i < 6000; i++) {
      const order = stream.shuffle(['a', 'b', 'c']).join('');
      orders.set(order, (orders.get(order) ?? 0) + 1);
    }
    expect(orders.size).toBe(6);
    for (const count of orders.values()) expect(Math.abs(count - 1000)).toBeLessThan(145);
  });

  it('shuffles a copy, and picks a member', () => {
    fc.assert(
      fc.property(
        fc.maxSafeInteger().map(Math.abs),
        fc.array(fc.integer(), { minLength: 1 }),
        (seed, items) => {
          const before = [...items];
          const stream = randomStream(seed);
          expect(stream.shuffle(items).toSorted()).toEqual(before.toSorted());
          expect(items).toEqual(before);
          expect(items).toContain(stream.pick(items));
        },
      ),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => randomStream(-1)).toThrow('seed must be an integer of at least 0, got -1');
    expect(() => randomStream(1).int(0)).toThrow('n must be an integer in [1, 4294967296], got 0');
    expect(() => randomStream(1).pick([])).toThrow('items');
  });
});
