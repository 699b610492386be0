import type { z } from 'zod';
import { describeSample } from '../report/describe-sample.ts';
import type { ViewedRun } from '../report/run-view.ts';
import type { EpochIndex } from '../runs/epoch-index.ts';
import { InvalidArtifact } from '../store/errors.ts';
import { parseOrNull, problemOf } from '../store/json-files.ts';
import { readPlaces } from '../store/line-places.ts';
import type { Place } from '../store/line-places.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { FileRef } from '../store/references.ts';
import type { FilterRecord, RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../types/records.ts';
import type { Rollout, TaskPage } from './api.ts';
import {
  filterRecordSchema,
  rewardRecordSchema,
  scoreRecordSchema,
  taskRecordSchema,
  traceRecordSchema,
} from './record-schemas.ts';
import type { TokenTexts } from './token-texts.ts';

/**
 * A task with all its attempts: only its own records are read, at the places that the index names.
 * @param index place of the task in its epoch, counted from 0
 */
export async function taskPage(
  { store, world }: ViewedRun,
  { epoch, index, files, tasks }: EpochIndex & { epoch: number; index: number },
  tokenTexts: TokenTexts | null,
): Promise<TaskPage | undefined> {
  const entry = tasks[index];
  if (entry === undefined || files.tasks === null) return undefined;
  const gaps: string[] = [];
  const reader = new RecordReader(store, gaps);
  const { places } = entry;
  const [task] = await reader.read<TaskRecord>(files.tasks, [places.task], taskRecordSchema);
  if (task === undefined) throw new InvalidArtifact(store.path(files.tasks), gaps.join('; '));
  const [score] = await reader.read<ScoreRecord>(files.scores, [places.score], scoreRecordSchema);
  const [decision] = await reader.read<FilterRecord>(files.decisions, [places.decision], filterRecordSchema);
  const rewards = await reader.read<RewardRecord>(files.rewards, places.rewards, rewardRecordSchema);
  const traces: TraceRecord[] = [];
  for (const { file, place } of places.traces)
    traces.push(...(await reader.read<TraceRecord>(files.traces[file], [place], traceRecordSchema)));
  const sample = describeSample(epoch, task, { score, decision, rewards, traces, world });
  const rollouts = sample.answers.map((answer): Rollout => {
    const trace = traces.find(({ id }) => id === answer.id);
    const reward = rewards.find(({ id }) => id === answer.id);
    return {
      ...answer,
      seed: trace?.sampled.seed ?? null,
      policy: trace?.sampled.policy_version ?? '',
      answer: reward?.answer ?? '',
      failure: reward?.failure ?? '',
      tokenTexts: trace && tokenTexts ? tokenTexts.tokensOf(trace.sampled) : null,
      logprob: trace === undefined ? null : trace.sampled.logprobs.reduce((sum, value) => sum + value, 0),
      turns: trace?.turns ?? [],
    };
  });
  return { epoch, index, total: tasks.length, sample, rollouts, gaps };
}

/** Reads records at some places; one that is damaged is named in `gaps`, and left out. */
class RecordReader {
  readonly #store: ObjectStore;
  readonly #gaps: string[];

  constructor(store: ObjectStore, gaps: string[]) {
    this.#store = store;
    this.#gaps = gaps;
  }

  async read<T>(
    ref: FileRef | null | undefined,
    places: readonly (Place | null)[],
    schema: z.ZodType,
  ): Promise<T[]> {
    const present = places.filter((place) => place !== null);
    if (!ref || present.length === 0) return [];
    try {
      const parts = await readPlaces(await this.#store.localPath(ref), present);
      const lines = parts.flatMap((part) => part.toString('utf8').split('\n'));
      return lines.flatMap((line) => {
        const record = parseOrNull(line);
        const problem = problemOf(record, schema);
        if (problem === undefined) return [record as T];
        this.#gaps.push(`${ref.uri}: ${problem}`);
        return [];
      });
    } catch (error) {
      if (!(error instanceof InvalidArtifact)) throw error;
      this.#gaps.push(error.message);
      return [];
    }
  }
}
