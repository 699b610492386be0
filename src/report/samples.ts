import type { ObjectStore } from '../store/object-store.ts';
import type { FilterRecord, RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../types/records.ts';
import type { World } from '../worlds/world.ts';
import { describeSample } from './describe-sample.ts';
import type { Sample } from './describe-sample.ts';
import { readRecords } from './read-lines.ts';
import { trainingRows } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** Some of an epoch's tasks, in their order. */
export interface SampledEpoch {
  epoch: number;
  /** How many tasks the epoch had. */
  tasks: number;
  samples: Sample[];
}

const MAX_EPOCHS = 30;
const MAX_TASKS = 12;
const BUDGET_BYTES = 2_500_000;
/** Longest text that is shown whole, tried in turn until all fits the budget. */
const textLimits = [4000, 1200, 400, 120];

/**
 * Tasks and traces to look at, the same ones whenever the report is written, small enough to stand in the
 * page.
 */
export async function sampleEpochs(
  rows: readonly EpochRow[],
  store: ObjectStore,
  world: World | null,
  gaps: string[],
): Promise<SampledEpoch[]> {
  const epochs: SampledEpoch[] = [];
  const withTasks = trainingRows(rows).filter(({ outputs }) => outputs.tasks);
  for (const row of spreadSample(withTasks, MAX_EPOCHS)) {
    const sampled = await sampleEpoch(row, store, { world, gaps });
    if (sampled !== null) epochs.push(sampled);
  }
  return withinBudget(epochs, gaps);
}

/**
 * Tasks of one epoch that show its range; null if it has none, or its file cannot be read.
 * @throws StoreUnavailable if `awaitsStore`; else that is a gap too
 */
export async function sampleEpoch(
  { epoch, outputs }: Pick<EpochRow, 'epoch' | 'outputs'>,
  store: ObjectStore,
  { world, gaps, awaitsStore = false }: { world: World | null; gaps: string[]; awaitsStore?: boolean },
): Promise<SampledEpoch | null> {
  if (!outputs.tasks) return null;
  const read = <T>(refs: Parameters<typeof readRecords>[1], what: string, keep?: (record: T) => boolean) =>
    readRecords<T>(store, refs, {
      what: `epoch ${epoch}: ${what}`,
      gaps,
      awaitsStore,
      ...(keep && { keep }),
    });
  const tasks = await read<TaskRecord>([outputs.tasks], 'tasks');
  if (tasks === null) return null;
  const scores = byTask((await read<ScoreRecord>(listed(outputs.scores), 'scores')) ?? []);
  const chosen = chooseTasks(tasks, scores, MAX_TASKS);
  const ids = new Set(chosen.map(({ id }) => id));
  const isChosen = (record: { task_id: string }) => ids.has(record.task_id);
  const decisions = byTask(
    (await read<FilterRecord>(listed(outputs.decisions), 'filter decisions', isChosen)) ?? [],
  );
  const rewards = (await read<RewardRecord>(listed(outputs.rewards), 'rewards', isChosen)) ?? [];
  const traces = (await read<TraceRecord>(outputs.traces ?? [], 'traces', isChosen)) ?? [];
  const samples = chosen.map((task) =>
    describeSample(epoch, task, {
      score: scores.get(task.id),
      decision: decisions.get(task.id),
      rewards: rewards.filter(({ task_id }) => task_id === task.id),
      traces: traces.filter(({ task_id }) => task_id === task.id),
      world,
    }),
  );
  return { epoch, tasks: tasks.length, samples };
}

const listed = <T>(ref: T | null | undefined): T[] => (ref === null || ref === undefined ? [] : [ref]);
const byTask = <T extends { task_id: string }>(records: readonly T[]): Map<string, T> =>
  new Map(records.map((record) => [record.task_id, record]));

function withinBudget(epochs: SampledEpoch[], gaps: string[]): SampledEpoch[] {
  const size = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
  for (const limit of textLimits) {
    const clipped = clip(epochs, limit) as SampledEpoch[];
    if (size(clipped) <= BUDGET_BYTES) return clipped;
  }
  gaps.push(
    'Sample tasks: too large to show all; some epochs are left out. The files in the store have them.',
  );
  const clipped = clip(epochs, 120) as SampledEpoch[];
  return spreadSample(
    clipped,
    Math.max(1, Math.floor((clipped.length * BUDGET_BYTES) / size(clipped) / 1.5)),
  );
}

/** Cuts every text in a value to a length, and says so in the text. */
function clip(value: unknown, limit: number): unknown {
  if (typeof value === 'string') {
    if (value.length <= limit) return value;
    return `${value.slice(0, limit)}… (${value.length - limit} more characters)`;
  }
  if (Array.isArray(value)) return value.map((item) => clip(item, limit));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, clip(field, limit)]));
}

/** At most `max` items, evenly spread, with the first and the last. */
export function spreadSample<T>(items: readonly T[], max: number): T[] {
  if (items.length <= max) return [...items];
  if (max <= 1) return items.slice(-max);
  const indices = new Set(
    Array.from({ length: max }, (_, index) => Math.round((index * (items.length - 1)) / (max - 1))),
  );
  return items.filter((_, index) => indices.has(index));
}

/**
 * Tasks that show an epoch's range: valid ones from never to always solved, and up to a quarter invalid ones,
 * in the epoch's own order. No chance is involved, so a report written again shows the same.
 */
export function chooseTasks(
  tasks: readonly TaskRecord[],
  scores: ReadonlyMap<string, ScoreRecord>,
  max: number,
): TaskRecord[] {
  const invalid = tasks.filter(({ valid }) => !valid);
  const bySuccess = tasks
    .map((task, index) => ({ task, index, rate: scores.get(task.id)?.success_rate ?? -1 }))
    .filter(({ task }) => task.valid)
    .sort((a, b) => a.rate - b.rate || a.index - b.index)
    .map(({ task }) => task);
  const shownInvalid = spreadSample(invalid, Math.max(Math.floor(max / 4), max - bySuccess.length));
  const chosen = new Set([...shownInvalid, ...spreadSample(bySuccess, max - shownInvalid.length)]);
  return tasks.filter((task) => chosen.has(task));
}
