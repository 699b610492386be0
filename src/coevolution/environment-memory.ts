import { requireInRange, requireInteger } from './domain.ts';
import { distinctNewest } from './environment-pool.ts';
import type { RandomStream } from './seeds.ts';

/** What the memory of D_env must know of a record: when it was written, what makes it a repeat, what it earned, and what recent success its context told of. */
export type MemoryRecord = {
  epoch: number;
  signature: string;
  env_reward: number;
  history_success: number | null;
};

/** Splits D_env into the records of the last `window` epochs (this one included) and the older ones; null: all are recent. */
export function splitByAge<R extends { epoch: number }>(
  pool: readonly R[],
  { epoch, window }: { epoch: number; window: number | null },
): { recent: R[]; older: R[] } {
  const isRecent = (record: R): boolean => window === null || epoch - record.epoch < window;
  return { recent: pool.filter(isRecent), older: pool.filter((record) => !isRecent(record)) };
}

/**
 * Older records worth keeping: R_env of at least `minReward`, the newest `perTenth` for each tenth of the success that their context
 * told of, in the pool's order. All of an epoch's tasks are written under one history, so without these the regression could not learn
 * what another history asks for. (A history that states success and difficulty places the agent: its records do not go stale.)
 * With `deduplicate`, of equal signatures only the newest is kept, whatever history it was written under.
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

/** Draws `count` of the remembered records, spread evenly over the tenths that are there, each as likely within its tenth. */
export function recall<R extends MemoryRecord>(
  memory: readonly R[],
  count: number,
  random: RandomStream,
): R[] {
  requireInteger('count', count, 0);
  const tenths = [...byTenth(memory).values()];
  return tenths.length === 0
    ? []
    : Array.from({ length: count }, (_, index) => random.pick(tenths[index % tenths.length]!));
}

/** Records by the tenth of success their context told of (9 = 90 % and more), lowest first; a context that told of none has none. */
function byTenth<R extends MemoryRecord>(records: readonly R[]): Map<number, R[]> {
  const groups = new Map<number, R[]>();
  for (const record of records) {
    if (record.history_success === null) continue;
    const tenth = Math.min(9, Math.floor(10 * record.history_success));
    groups.set(tenth, [...(groups.get(tenth) ?? []), record]);
  }
  return new Map([...groups].sort(([left], [right]) => left - right));
}
