import type { Activities } from '../test-support/plain-epochs.ts';

/** The activities, and the wall-clock seconds that each took; shards that run side by side count once. */
export function timed(activities: Activities): { activities: Activities; seconds: Record<string, number> } {
  const seconds: Record<string, number> = {};
  const open = new Map<string, { count: number; since: number }>();
  const measured = Object.entries(activities).map(([name, activity]) => [
    name,
    async (input: never): Promise<unknown> => {
      const entry = open.get(name) ?? { count: 0, since: performance.now() };
      if (entry.count === 0) entry.since = performance.now();
      entry.count += 1;
      open.set(name, entry);
      const result = await (activity as (input: never) => Promise<unknown>)(input);
      entry.count -= 1;
      if (entry.count === 0) seconds[name] = (seconds[name] ?? 0) + (performance.now() - entry.since) / 1000;
      return result;
    },
  ]);
  return { activities: Object.fromEntries(measured) as Activities, seconds };
}
