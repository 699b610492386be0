import { requireInteger } from './domain.ts';

/** What D_env must know of a record (conditioning context -> task): when it was written, and what makes it a repeat. */
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

/** D_env with one more epoch in it. GenEnv Alg. 1, phase 3. Records must be newer than the pool's: an epoch is added once. */
export function extendPool<R extends EnvironmentRecord>(pool: readonly R[], records: readonly R[]): R[] {
  const newest = pool.at(-1)?.epoch ?? -1;
  for (const [i, { epoch }] of records.entries()) {
    requireInteger(`records[${i}].epoch`, epoch, newest + 1);
  }
  return [...pool, ...records];
}

/**
 * Records of D_env that the environment's regression uses, in the pool's order. Success rates are those of the agent
 * of their time, and age badly: a window of four epochs let the simulator overshoot for thirty, so ours is 1 or 2.
 * With `deduplicate`, of equal signatures the newest record stays (the first, within an epoch), and its weight is
 * divided by 1 + repeats, counted over all of the pool that is given: a task written again in every epoch fades.
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
    const known = newest.get(record.signature);
    if (known === undefined || record.epoch > known.epoch) newest.set(record.signature, record);
  }
  return pool.filter((record) => newest.get(record.signature) === record);
}

/** How often the signature of a record of this pool occurs in it beside the record itself. */
export function repeatsIn<R extends EnvironmentRecord>(pool: readonly R[]): (record: R) => number {
  const counts = new Map<string, number>();
  for (const { signature } of pool) counts.set(signature, (counts.get(signature) ?? 0) + 1);
  return ({ signature }) => counts.get(signature)! - 1;
}
