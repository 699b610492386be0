import { dirname, join } from 'node:path';
import { z } from 'zod';
import { zipRecords } from '../async/streams.ts';
import { epochId } from '../formats/epoch-id.ts';
import { StagedFile } from '../store/atomic-write.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import { placedLines } from '../store/line-places.ts';
import type { Place } from '../store/line-places.ts';
import { parseOrNull } from '../store/json-files.ts';
import { linesOf } from '../store/object-integrity.ts';
import { writeRecords } from '../store/object-store.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { readPlainFile } from '../store/plain-files.ts';
import { FileRef } from '../store/references.ts';
import type { FilterRecord, ScoreRecord, TaskRecord, TaskSource } from '../types/records.ts';

const place = z.tuple([z.int().min(0), z.int().min(0).max(256_000_000)]).readonly();
/** Records that stand together in the `file`-th of an epoch's files of traces. */
const traceSpan = z.object({ file: z.int().min(0), place });

/** What is known of a task without a look at its records, and where they are. */
const taskEntrySchema = z.object({
  id: z.string(),
  kind: z.string(),
  difficulty: z.number(),
  source: z.string(),
  /** Start of the task's text. */
  excerpt: z.string(),
  valid: z.boolean(),
  /** Why it is no task, or why a filter left it out; empty for a task that all its updates use. */
  reason: z.string(),
  attempts: z.number(),
  successes: z.number(),
  /** p̂, in [0, 1]; null if nothing was measured. */
  rate: z.number().nullable(),
  /** p̂ that the filter and the simulator's reward go by: the task's own or its batch's. */
  targetRate: z.number().nullable(),
  keptForAgent: z.boolean().nullable(),
  keptForSimulator: z.boolean().nullable(),
  places: z.object({
    task: place,
    score: place.nullable(),
    decision: place.nullable(),
    rewards: z.array(place),
    traces: z.array(traceSpan),
  }),
});
export type TaskEntry = z.infer<typeof taskEntrySchema>;

const filesSchema = z.object({
  tasks: FileRef.nullable(),
  scores: FileRef.nullable(),
  decisions: FileRef.nullable(),
  rewards: FileRef.nullable(),
  traces: z.array(FileRef),
});
type IndexedFiles = z.infer<typeof filesSchema>;

/** The files of an epoch, as its ledger line names them; those of an older version may be absent. */
export interface EpochFiles {
  tasks?: FileRef | null | undefined;
  scores?: FileRef | null | undefined;
  decisions?: FileRef | null | undefined;
  rewards?: FileRef | null | undefined;
  traces?: FileRef[] | undefined;
}

const headSchema = z.object({ version: z.literal(2), line: z.string(), files: filesSchema });

/** The tasks of an epoch, in their order. */
export interface EpochIndex {
  files: IndexedFiles;
  tasks: TaskEntry[];
}

const EXCERPT_CHARS = 160;
/** Of an index: 250,000 tasks have one of 120 MB. */
const MAX_INDEX_BYTES = 200_000_000;

const indexFile = (runPath: string, epoch: number): string =>
  join(runPath, 'index', `${epochId(epoch)}.jsonl`);

/**
 * Writes the index of an epoch into the run's folder: what a table of its tasks shows, and where the records of
 * each stand in their files. It is made from them alone, and holds for one ledger line.
 * @param line hash of the epoch's ledger line
 * @param onFile called as each of its large files is begun
 * @throws InvalidArtifact for records that are missing or damaged, StoreUnavailable
 */
export async function writeEpochIndex(
  runPath: string,
  { epoch, line, outputs }: { epoch: number; line: string; outputs: EpochFiles },
  store: ObjectStore,
  onFile: (file: number) => void = () => undefined,
): Promise<void> {
  const { tasks = null, scores = null, decisions = null, rewards = null, traces = [] } = outputs;
  const files = { tasks, scores, decisions, rewards, traces };
  const file = indexFile(runPath, epoch);
  const staged = await StagedFile.open(dirname(file));
  try {
    await writeRecords(staged, indexLines({ version: 2, line, files }, store, onFile));
    await staged.commit(file);
  } finally {
    await staged.discard();
  }
}

/**
 * The index of an epoch; undefined if there is none, if it was torn, or if it is of a line that a rewind has
 * removed: then it is to be made again.
 */
export async function readEpochIndex(
  runPath: string,
  { epoch, line }: { epoch: number; line: string },
): Promise<EpochIndex | undefined> {
  const data = await undefinedIfMissing(readPlainFile(indexFile(runPath, epoch), MAX_INDEX_BYTES));
  if (data === undefined) return undefined;
  const lines = linesOf(data);
  const first = lines.next();
  const head = headSchema.safeParse(parseOrNull(first.done ? '' : first.value));
  if (!head.success || head.data.line !== line) return undefined;
  const { files } = head.data;
  const tasks: TaskEntry[] = [];
  // Line by line, so that no more than the entries themselves is in memory.
  for (const entry of lines) {
    const { success, data: task } = taskEntrySchema.safeParse(parseOrNull(entry));
    if (!success) return undefined;
    tasks.push(task);
  }
  return tasks.length === (files.tasks?.count ?? 0) ? { files, tasks } : undefined;
}

/** The lines of an index, one by one: of a large epoch, only the places of rewards and traces are in memory. */
async function* indexLines(
  head: { version: 2; line: string; files: IndexedFiles },
  store: ObjectStore,
  onFile: (file: number) => void,
): AsyncGenerator<object> {
  yield head;
  const { tasks, scores, decisions, rewards, traces } = head.files;
  if (tasks === null) return;
  const rewardSpans = await spansByTask(rewards === null ? [] : [rewards], store, onFile);
  const traceSpans = await spansByTask(traces, store, onFile);
  const placedTasks = placedRecords<TaskRecord>(tasks, store);
  const rows =
    scores === null || decisions === null
      ? inRows(placedTasks)
      : zipRecords<[Placed<TaskRecord>, Placed<ScoreRecord>, Placed<FilterRecord>]>(
          placedTasks,
          placedRecords<ScoreRecord>(scores, store),
          placedRecords<FilterRecord>(decisions, store),
        );
  for await (const [task, score, decision] of rows) {
    const entry = entryOf(task);
    if (score !== undefined) addScore(entry, score);
    if (decision !== undefined) addDecision(entry, decision);
    entry.places.rewards = placesIn(rewardSpans.get(task.id)).map(({ place }) => place);
    entry.places.traces = placesIn(traceSpans.get(task.id));
    yield entry;
  }
}

type Placed<Record> = Record & { place: Place };

async function* placedRecords<Record>(ref: FileRef, store: ObjectStore): AsyncGenerator<Placed<Record>> {
  for await (const { line, place } of placedLines(await store.localPath(ref)))
    yield { ...(JSON.parse(line.toString('utf8')) as Record), place };
}

async function* inRows<T>(items: AsyncIterable<T>): AsyncGenerator<[T, undefined?, undefined?]> {
  for await (const item of items) yield [item];
}

/** File, offset and bytes of each run of records that stand together, one after the other, by task. */
async function spansByTask(
  refs: readonly FileRef[],
  store: ObjectStore,
  onFile: (file: number) => void,
): Promise<Map<string, number[]>> {
  const spans = new Map<string, number[]>();
  for (const [file, ref] of refs.entries()) {
    onFile(file);
    for await (const [id, [offset, bytes]] of taskSpans(await store.localPath(ref))) {
      const earlier = spans.get(id);
      if (earlier === undefined) spans.set(id, [file, offset, bytes]);
      else earlier.push(file, offset, bytes);
    }
  }
  return spans;
}

const placesIn = (numbers: readonly number[] = []): { file: number; place: Place }[] =>
  Array.from({ length: numbers.length / 3 }, (_, index) => ({
    file: numbers[3 * index]!,
    place: [numbers[3 * index + 1]!, numbers[3 * index + 2]!],
  }));

const entryOf = (task: Placed<TaskRecord>): TaskEntry => ({
  id: task.id,
  kind: task.kind,
  difficulty: task.difficulty,
  source: task.source,
  excerpt: (task.valid ? task.prompt : (task.sampled?.text ?? task.prompt)).slice(0, EXCERPT_CHARS),
  valid: task.valid,
  reason: task.invalid_reason,
  attempts: 0,
  successes: 0,
  rate: null,
  targetRate: null,
  keptForAgent: null,
  keptForSimulator: null,
  places: { task: task.place, score: null, decision: null, rewards: [], traces: [] },
});

function addScore(entry: TaskEntry, score: Placed<ScoreRecord>): void {
  const { attempts, successes, success_rate: rate, target_rate: targetRate } = score;
  Object.assign(entry, { attempts, successes, rate, targetRate });
  entry.places.score = score.place;
}

function addDecision(entry: TaskEntry, decision: Placed<FilterRecord>): void {
  Object.assign(entry, updatesOf(decision, entry.source as TaskSource));
  if (entry.valid && (entry.keptForAgent === false || entry.keptForSimulator === false))
    entry.reason = decision.reason;
  entry.places.decision = decision.place;
}

/** Which updates use a task; null if it is none of an update's: the simulator learns from new tasks alone. */
export const updatesOf = (
  { kept_for_agent, kept_for_environment }: FilterRecord,
  source: TaskSource,
): Pick<TaskEntry, 'keptForAgent' | 'keptForSimulator'> => ({
  keptForAgent: kept_for_agent,
  keptForSimulator: source === 'new' ? kept_for_environment : null,
});

/** The records of one task that stand together in a file, with their newlines but the last. */
async function* taskSpans(path: string): AsyncGenerator<[id: string, span: Place]> {
  let [id, start, end] = ['', 0, 0];
  for await (const { line, place } of placedLines(path)) {
    const next = taskIdOf(line);
    if (next !== id) {
      if (id !== '') yield [id, [start, end - start]];
      [id, start] = [next, place[0]];
    }
    end = place[0] + place[1];
  }
  if (id !== '') yield [id, [start, end - start]];
}

const FIELD = Buffer.from('"task_id":"');
const QUOTE = 0x22;

/**
 * The `task_id` of a record as canonical JSON, without parsing its tokens. A text of a model cannot hold the
 * field's name with its quotes: in a JSON string they are escaped.
 */
function taskIdOf(line: Buffer): string {
  const start = line.lastIndexOf(FIELD) + FIELD.length;
  return start < FIELD.length ? '' : line.toString('utf8', start, line.indexOf(QUOTE, start));
}
