import type {
  FilterRecord,
  RewardRecord,
  ScoreRecord,
  TaskRecord,
  TraceRecord,
} from '../contracts/records.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { World } from '../worlds/world.ts';
import { choose, spread } from './choose-samples.ts';
import { readRecords } from './read-records.ts';
import { trained } from './run-data.ts';
import type { EpochRow } from './run-data.ts';
import { describeSample } from './describe-sample.ts';
import type { Sample } from './describe-sample.ts';

/** Some of an epoch's tasks, in their order. */
export interface SampledEpoch {
  epoch: number;
  /** How many tasks the epoch had. */
  tasks: number;
  samples: Sample[];
}

const mostEpochs = 30;
const mostTasks = 12;
const budgetBytes = 2_500_000;
/** Longest text that is shown whole, tried in turn until all fits the budget. */
const textLimits = [4000, 1200, 400, 120];

/** Tasks and traces to look at, the same ones whenever the report is written, small enough to stand in the page. */
export async function sampleEpochs(
  rows: readonly EpochRow[],
  store: ObjectStore,
  world: World | null,
  gaps: string[],
): Promise<SampledEpoch[]> {
  const epochs: SampledEpoch[] = [];
  for (const row of spread(
    trained(rows).filter(({ outputs }) => outputs.tasks),
    mostEpochs,
  )) {
    const sampled = await sampleEpoch(row, store, world, gaps);
    if (sampled !== null) epochs.push(sampled);
  }
  return withinBudget(epochs, gaps);
}

async function sampleEpoch(
  { epoch, outputs }: EpochRow,
  store: ObjectStore,
  world: World | null,
  gaps: string[],
): Promise<SampledEpoch | null> {
  if (!outputs.tasks) return null;
  const read = <T>(refs: Parameters<typeof readRecords>[1], what: string, keep?: (record: T) => boolean) =>
    readRecords<T>(store, refs, `epoch ${epoch}: ${what}`, gaps, keep);
  const tasks = await read<TaskRecord>([outputs.tasks], 'tasks');
  if (tasks === null) return null;
  const scores = byTask((await read<ScoreRecord>(listed(outputs.scores), 'scores')) ?? []);
  const chosen = choose(tasks, scores, mostTasks);
  const ids = new Set(chosen.map(({ id }) => id));
  const wanted = (record: { task_id: string }) => ids.has(record.task_id);
  const decisions = byTask(
    (await read<FilterRecord>(listed(outputs.decisions), 'filter decisions', wanted)) ?? [],
  );
  const rewards = (await read<RewardRecord>(listed(outputs.rewards), 'rewards', wanted)) ?? [];
  const traces = (await read<TraceRecord>(outputs.traces ?? [], 'traces', wanted)) ?? [];
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
    if (size(clipped) <= budgetBytes) return clipped;
  }
  gaps.push(
    'Sample tasks: too large to show all; some epochs are left out. The files in the store have them.',
  );
  const clipped = clip(epochs, 120) as SampledEpoch[];
  return spread(clipped, Math.max(1, Math.floor((clipped.length * budgetBytes) / size(clipped) / 1.5)));
}

/** The value with every text in it cut to a length, and said to be cut. */
function clip(value: unknown, limit: number): unknown {
  if (typeof value === 'string')
    return value.length <= limit
      ? value
      : `${value.slice(0, limit)}… (${value.length - limit} more characters)`;
  if (Array.isArray(value)) return value.map((item) => clip(item, limit));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, clip(field, limit)]));
}
