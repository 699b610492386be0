import { range } from '../numerics/arithmetic.ts';
import { requireInRange, requireInteger } from '../numerics/preconditions.ts';
import type { RandomStream } from '../numerics/random.ts';

/**
 * What D_env needs of a record (conditioning context -> task): when it was written, and its key as a repeat.
 */
export type EnvironmentRecord = { epoch: number; signature: string };

export type RegressionRecord<R extends EnvironmentRecord> = {
  record: R;
  /** Epochs since it was written; 0: this epoch. */
  age: number;
  /** Other records of the pool, of whatever age, with the same signature. */
  repeats: number;
  /** What its regression weight is multiplied with, in (0, 1]. */
  discount: number;
};

export type EnvironmentWindow = {
  /** The epoch that is trained now. */
  epoch: number;
  /** Epochs whose records count, this one included; null: all of them, as the paper's ever-growing D_env. */
  window: number | null;
  deduplicate: boolean;
};

/**
 * D_env with one more epoch in it. GenEnv Alg. 1, phase 3. Records must be newer than the pool's: an epoch is
 * added once.
 */
export function extendPool<R extends EnvironmentRecord>(pool: readonly R[], records: readonly R[]): R[] {
  const newest = pool.at(-1)?.epoch ?? -1;
  for (const [i, { epoch }] of records.entries()) {
    requireInteger(`records[${i}].epoch`, epoch, newest + 1);
  }
  return [...pool, ...records];
}

/**
 * Records of D_env that the environment's regression uses, in the pool's order. Success rates are those of
 * the agent at that time, and age badly: a window of four epochs let the simulator overshoot for thirty, so
 * ours is 1 or 2. With `deduplicate`, of equal signatures the newest record stays (the first, within an
 * epoch), and its weight is divided by 1 + repeats, counted over all of the pool that is given: a task
 * written again in every epoch fades.
 */
export function regressionRecords<R extends EnvironmentRecord>(
  pool: readonly R[],
  { epoch, window, deduplicate }: EnvironmentWindow,
): RegressionRecord<R>[] {
  requireInteger('epoch', epoch, 0);
  if (window !== null) requireInteger('window', window, 1);
  for (const [i, record] of pool.entries()) requireInteger(`pool[${i}].epoch`, record.epoch, 0, epoch);
  const repeatsOf = repeatsIn(pool);
  return (deduplicate ? distinctNewest(pool) : pool)
    .filter((record) => window === null || epoch - record.epoch < window)
    .map((record) => {
      const repeats = repeatsOf(record);
      return { record, age: epoch - record.epoch, repeats, discount: deduplicate ? 1 / (1 + repeats) : 1 };
    });
}

/** Of equal signatures the newest record (the first, within an epoch), in the pool's order. */
export function distinctNewest<R extends EnvironmentRecord>(pool: readonly R[]): R[] {
  const newest = new Map<string, R>();
  for (const record of pool) {
    const current = newest.get(record.signature);
    if (current === undefined || record.epoch > current.epoch) newest.set(record.signature, record);
  }
  return pool.filter((record) => newest.get(record.signature) === record);
}

/** Counts, for a record of this pool, the other records with its signature. */
export function repeatsIn<R extends EnvironmentRecord>(pool: readonly R[]): (record: R) => number {
  const counts = new Map<string, number>();
  for (const { signature } of pool) counts.set(signature, (counts.get(signature) ?? 0) + 1);
  return ({ signature }) => counts.get(signature)! - 1;
}

/**
 * What the memory of D_env needs of a record: when it was written, its key as a repeat, what it earned, and
 * the recent success that its context reported.
 */
export type MemoryRecord = {
  epoch: number;
  signature: string;
  env_reward: number;
  history_success: number | null;
};

/**
 * Splits D_env into the records of the last `window` epochs (this one included) and the rest; null: all
 * recent.
 */
export function splitByAge<R extends { epoch: number }>(
  pool: readonly R[],
  { epoch, window }: { epoch: number; window: number | null },
): { recent: R[]; older: R[] } {
  const isRecent = (record: R): boolean => window === null || epoch - record.epoch < window;
  return { recent: pool.filter(isRecent), older: pool.filter((record) => !isRecent(record)) };
}

/**
 * Older records worth keeping: R_env of at least `minReward`, the newest `perTenth` for each tenth of the
 * success that their context reported, in the pool's order. All of an epoch's tasks are written under one
 * history, so without these the regression could not learn what another history asks for. (A history that
 * states success and difficulty places the agent: its records do not go stale.) With `deduplicate`, of equal
 * signatures only the newest is kept, whatever history it was written under.
 */
export function remember<R extends MemoryRecord>(
  older: readonly R[],
  {
    minReward,
    perTenth,
    deduplicate = false,
  }: { minReward: number; perTenth: number; deduplicate?: boolean | undefined },
): R[] {
  requireInRange('minReward', minReward, 0, 1);
  requireInteger('perTenth', perTenth, 1);
  const worthy = older.filter(({ env_reward }) => env_reward >= minReward);
  const kept = new Set(
    [...byTenth(deduplicate ? distinctNewest(worthy) : worthy).values()].flatMap((records) =>
      records.slice(-perTenth),
    ),
  );
  return older.filter((record) => kept.has(record));
}

/**
 * Draws `count` of the remembered records, evenly over the tenths that have any, uniformly within a tenth.
 */
export function recall<R extends MemoryRecord>(
  memory: readonly R[],
  count: number,
  random: RandomStream,
): R[] {
  requireInteger('count', count, 0);
  const tenths = [...byTenth(memory).values()];
  if (tenths.length === 0) return [];
  return range(count).map((index) => random.pick(tenths[index % tenths.length]!));
}

/**
 * Records by the tenth of success that their context reported (9 = 90 % and more), lowest first; without the
 * records whose context reported none.
 */
function byTenth<R extends MemoryRecord>(records: readonly R[]): Map<number, R[]> {
  const groups = new Map<number, R[]>();
  for (const record of records) {
    if (record.history_success === null) continue;
    const tenth = Math.min(9, Math.floor(10 * record.history_success));
    groups.set(tenth, [...(groups.get(tenth) ?? []), record]);
  }
  return new Map([...groups].sort(([left], [right]) => left - right));
}
