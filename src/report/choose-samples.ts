import type { ScoreRecord, TaskRecord } from '../contracts/records.ts';

/** At most `most` items, evenly spread, with the first and the last. */
export function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  if (most <= 1) return items.slice(-most);
  const places = new Set(
    Array.from({ length: most }, (_, index) => Math.round((index * (items.length - 1)) / (most - 1))),
  );
  return items.filter((_, index) => places.has(index));
}

/**
 * Tasks that show an epoch's range: valid ones from never to always solved, and up to a quarter invalid ones, in the
 * epoch's own order. No chance is involved, so a report written again shows the same.
 */
export function choose(
  tasks: readonly TaskRecord[],
  scores: ReadonlyMap<string, ScoreRecord>,
  most: number,
): TaskRecord[] {
  const invalid = tasks.filter(({ valid }) => !valid);
  const bySuccess = tasks
    .map((task, index) => ({ task, index, rate: scores.get(task.id)?.success_rate ?? -1 }))
    .filter(({ task }) => task.valid)
    .sort((a, b) => a.rate - b.rate || a.index - b.index)
    .map(({ task }) => task);
  const shownInvalid = spread(invalid, Math.max(Math.floor(most / 4), most - bySuccess.length));
  const chosen = new Set([...shownInvalid, ...spread(bySuccess, most - shownInvalid.length)]);
  return tasks.filter((task) => chosen.has(task));
}
