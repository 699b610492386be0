import { requireFinite, requireInRange, requireInteger } from '../../numerics/preconditions.ts';
import type { RandomStream } from '../../numerics/random.ts';

export interface ParentRecord {
  epoch: number;
  signature: string;
  env_reward: number;
  guard: number;
}

/**
 * The tasks that the next generation varies: `count` of the records with the largest R_env, that is the
 * success nearest to α, in falling order, of equal ones the newest first: few attempts have few values, and
 * an old task that was lucky once must not stay for ever. Each text counts once, with its newest record; those
 * without guard weight are left out, and ties are drawn. Truncation selection, after the idea of environment evolution
 * (arXiv 2609.04128): off-policy, since a parent is kept by what the agents of its own epoch made of it.
 */
export function selectParents<R extends ParentRecord>(
  records: readonly R[],
  count: number,
  random: RandomStream,
): R[] {
  requireInteger('count', count, 0);
  const newest = new Map<string, R>();
  for (const [i, record] of records.entries()) {
    requireFinite(`records[${i}].env_reward`, record.env_reward);
    requireInRange(`records[${i}].guard`, record.guard, 0, 1);
    newest.set(record.signature, record);
  }
  return random
    .shuffle([...newest.values()].filter(({ guard }) => guard > 0))
    .sort((left, right) => right.env_reward - left.env_reward || right.epoch - left.epoch)
    .slice(0, count);
}
