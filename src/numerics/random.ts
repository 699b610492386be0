import { createHash } from 'node:crypto';
import { requireInteger } from './preconditions.ts';

/**
 * Seed of one thing in an experiment, from the experiment's seed and where the thing stands in it (epoch,
 * phase, task, ...): the first 48 bits of SHA-256 over the JSON array [root, ...path], in [0, 2^48).
 * JSON keeps 1 and "1", and ["a", "b"] and ["ab"], apart; numbers must be integers, whose text is the same in
 * every language. Nothing that changes with a retry (attempt, time, host) may be in the path.
 */
export function deriveSeed(root: number | string, ...path: (string | number)[]): number {
  const parts = [root, ...path];
  for (const [i, part] of parts.entries()) {
    if (typeof part === 'number')
      requireInteger(i === 0 ? 'root' : `path[${i - 1}]`, part, Number.MIN_SAFE_INTEGER);
  }
  // -0 is written "0" by JSON, as it should be: it equals 0.
  return createHash('sha256').update(JSON.stringify(parts), 'utf8').digest().readUIntBE(0, 6);
}

export type RandomStream = {
  /** Uniform in [0, 1), with 53 random bits. */
  next(): number;
  /** Uniform integer in [0, n), without modulo bias; n in [1, 2^32]. */
  int(n: number): number;
  /** One of the items, each as likely. */
  pick<T>(items: readonly T[]): T;
  /** A shuffled copy (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[];
};

const TWO_32 = 2 ** 32;

/**
 * Seeded stream of random numbers: sfc32 of PractRand (C. Doty-Humphrey), from the state a = 0, b = the
 * seed's low 32 bits, c = its high bits, counter = 1, with the first twelve outputs discarded. Seeds are
 * integers in [0, 2^53).
 */
export function randomStream(seed: number): RandomStream {
  requireInteger('seed', seed, 0);
  let a = 0;
  let b = seed >>> 0;
  let c = Math.floor(seed / TWO_32) >>> 0;
  let counter = 1;

  function word(): number {
    const out = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = (b ^ (b >>> 9)) >>> 0;
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + out) >>> 0;
    return out;
  }
  for (let i = 0; i < 12; i++) word();

  const stream: RandomStream = {
    next: () => {
      const high = word() >>> 5;
      const low = word() >>> 6;
      return (high * 2 ** 26 + low) / 2 ** 53;
    },
    int: (n) => {
      requireInteger('n', n, 1, TWO_32);
      const limit = TWO_32 - (TWO_32 % n);
      let draw = word();
      while (draw >= limit) draw = word();
      return draw % n;
    },
    pick: (items) => {
      if (items.length === 0) throw new RangeError('items must not be empty: nothing to pick from');
      return items[stream.int(items.length)] as (typeof items)[number];
    },
    shuffle: <T>(items: readonly T[]): T[] => {
      const shuffled = [...items];
      for (let last = shuffled.length - 1; last > 0; last--) {
        const chosen = stream.int(last + 1);
        [shuffled[last], shuffled[chosen]] = [shuffled[chosen] as T, shuffled[last] as T];
      }
      return shuffled;
    },
  };
  return stream;
}
