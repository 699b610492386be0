import { join } from 'node:path';
import { z } from 'zod';
import { epochId } from '../formats/epoch-id.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import { placedLines } from '../store/line-places.ts';
import type { Place } from '../store/line-places.ts';
import { parseOrNull } from '../store/json-files.ts';
import { linesOf } from '../store/object-integrity.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { readPlainFile } from '../store/plain-files.ts';
import { FileRef } from '../store/references.ts';
import type { FilterRecord, ScoreRecord, TaskRecord } from '../types/records.ts';

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
  /** Why it is no task, or why a filter left it out; empty for a task that both updates use. */
  reason: z.string(),
  attempts: z.number(),
  successes: z.number(),
  /** p̂, in [0, 1]; null if nothing was measured. */
  rate: z.number().nullable(),
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

const headSchema = z.object({ version: z.literal(1), line: z.string(), files: filesSchema });

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
 * @throws InvalidArtifact for records that are missing or damaged, StoreUnavailable
 */
export async function writeEpochIndex(
  runPath: string,
  { epoch, line, outputs }: { epoch: number; line: string; outputs: EpochFiles },
  store: ObjectStore,
): Promise<void> {
  const { tasks = null, scores = null, decisions = null, rewards = null, traces = [] } = outputs;
  const files = { tasks, scores, decisions, rewards, traces };
  const entries = await indexTasks(files, store);
  const text = [{ version: 1, line, files }, ...entries]
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('');
  await atomicWrite(indexFile(runPath, epoch), text);
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

async function indexTasks(files: IndexedFiles, store: ObjectStore): Promise<TaskEntry[]> {
  const { tasks, scores, decisions, rewards, traces } = files;
  if (tasks === null) return [];
  const entries = new Map<string, TaskEntry>();
  for await (const { line, place } of placedLines(await store.localPath(tasks))) {
    const task = JSON.parse(line.toString('utf8')) as TaskRecord;
    entries.set(task.id, entryOf(task, place));
  }
  if (scores !== null)
    for await (const { line, place } of placedLines(await store.localPath(scores)))
      addScore(entries, JSON.parse(line.toString('utf8')) as ScoreRecord, place);
  if (decisions !== null)
    for await (const { line, place } of placedLines(await store.localPath(decisions)))
      addDecision(entries, JSON.parse(line.toString('utf8')) as FilterRecord, place);
  if (rewards !== null)
    for await (const [id, span] of taskSpans(await store.localPath(rewards)))
      entries.get(id)?.places.rewards.push(span);
  for (const [file, ref] of traces.entries())
    for await (const [id, span] of taskSpans(await store.localPath(ref)))
      entries.get(id)?.places.traces.push({ file, place: span });
  return [...entries.values()];
}

const entryOf = (task: TaskRecord, place: Place): TaskEntry => ({
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
  keptForAgent: null,
  keptForSimulator: null,
  places: { task: place, score: null, decision: null, rewards: [], traces: [] },
});

function addScore(entries: Map<string, TaskEntry>, score: ScoreRecord, place: Place): void {
  const entry = entries.get(score.task_id);
  if (entry === undefined) return;
  const { attempts, successes, success_rate: rate } = score;
  Object.assign(entry, { attempts, successes, rate });
  entry.places.score = place;
}

function addDecision(entries: Map<string, TaskEntry>, decision: FilterRecord, place: Place): void {
  const entry = entries.get(decision.task_id);
  if (entry === undefined) return;
  entry.keptForAgent = decision.kept_for_agent;
  entry.keptForSimulator = decision.kept_for_environment;
  if (entry.valid && !(decision.kept_for_agent && decision.kept_for_environment))
    entry.reason = decision.reason;
  entry.places.decision = place;
}

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
