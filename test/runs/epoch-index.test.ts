import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEpochIndex, updatesOf, writeEpochIndex } from '../../src/runs/epoch-index.ts';
import type { EpochIndex } from '../../src/runs/epoch-index.ts';
import { readPlaces } from '../../src/store/line-places.ts';
import type { FileRef } from '../../src/store/references.ts';
import type { RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../../src/types/records.ts';
import { makeRun } from '../report/make-run.ts';
import type { MadeRun } from '../report/make-run.ts';

let root = '';
let made: MadeRun;
let outputs: { tasks: FileRef; scores: FileRef; decisions: FileRef; rewards: FileRef; traces: FileRef[] };
const line = 'a'.repeat(64);
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'genenv-index-'));
  made = await makeRun({ home: root, epochs: 1, planned: 4 });
  const [, last = ''] = (await readFile(made.run.ledgerFile, 'utf8')).trim().split('\n');
  ({ outputs } = JSON.parse(last) as { outputs: typeof outputs });
});
afterAll(() => rm(root, { recursive: true, force: true }));

const read = async (): Promise<EpochIndex> =>
  (await readEpochIndex(made.run.path, { epoch: 1, line })) ?? expect.fail('no index');
async function recordsOf<T>(ref: FileRef): Promise<T[]> {
  const records: T[] = [];
  for await (const record of made.store.records<T>(ref)) records.push(record);
  return records;
}
const parsed = (parts: readonly Buffer[]): { id: string }[] =>
  parts.flatMap((part) => part.toString().split('\n')).map((text) => JSON.parse(text) as { id: string });

describe('the index of an epoch', () => {
  beforeAll(() => writeEpochIndex(made.run.path, { epoch: 1, line, outputs }, made.store));

  test('has every task with what its score and its decision say', async () => {
    const { tasks } = await read();
    const records = await recordsOf<TaskRecord>(outputs.tasks);
    const scores = await recordsOf<ScoreRecord>(outputs.scores);
    expect(tasks.map(({ id }) => id)).toEqual(records.map(({ id }) => id));
    expect(tasks.map(({ rate }) => rate)).toEqual(scores.map(({ success_rate }) => success_rate));
    expect(tasks.map(({ targetRate }) => targetRate)).toEqual(scores.map(({ target_rate }) => target_rate));
    expect(tasks.find(({ valid }) => !valid)?.reason).toBe(
      records.find(({ valid }) => !valid)?.invalid_reason,
    );
    expect(tasks.some(({ keptForSimulator, reason }) => keptForSimulator === false && reason !== '')).toBe(
      true,
    );
  });

  test('tells of the simulator’s update for new tasks only', () => {
    const decision = { task_id: 't', kept_for_agent: true, kept_for_environment: false, reason: 'kept' };
    expect(updatesOf(decision, 'base')).toEqual({ keptForAgent: true, keptForSimulator: null });
    expect(updatesOf(decision, 'new')).toEqual({ keptForAgent: true, keptForSimulator: false });
  });

  test('leads to all records of a task, and to no other’s', async () => {
    const { tasks, files } = await read();
    const traces = (await Promise.all(files.traces.map((ref) => recordsOf<TraceRecord>(ref)))).flat();
    const rewards = await recordsOf<RewardRecord>(outputs.rewards);
    for (const { id, places } of tasks) {
      const at = await Promise.all(
        places.traces.map(({ file, place }) => readPlaces(made.store.path(files.traces[file]!), [place])),
      );
      const own = ({ task_id }: { task_id: string }): boolean => task_id === id;
      expect(parsed(at.flat()), id).toEqual(traces.filter(own));
      expect(parsed(await readPlaces(made.store.path(outputs.rewards), places.rewards)), id).toEqual(
        rewards.filter(own),
      );
    }
  });

  test('is none for another line of the ledger, for a torn file, and where there is none', async () => {
    const removed = { epoch: 1, line: 'b'.repeat(64) };
    expect(await readEpochIndex(made.run.path, removed)).toBeUndefined();
    expect(await readEpochIndex(made.run.path, { epoch: 2, line })).toBeUndefined();
    const file = join(made.run.path, 'index', 'epoch-0001.jsonl');
    const text = await readFile(file, 'utf8');
    await truncate(file, text.length - 20);
    expect(await readEpochIndex(made.run.path, { epoch: 1, line })).toBeUndefined();
    await writeFile(file, text);
  });

  test('takes what a model wrote for no field', async () => {
    const spoofed = { id: 'epoch-0001/task-00/rollout-00', task_id: 'epoch-0001/task-00' };
    const text = '","task_id":"epoch-0001/task-01","x":"';
    const tasks = await made.store.putRecords((await recordsOf<TaskRecord>(outputs.tasks)).slice(0, 2));
    const traces = [
      await made.store.putRecords([
        { ...spoofed, role: 'agent', sampled: { text }, turns: [{ action: text }] },
      ]),
    ];
    await writeEpochIndex(made.run.path, { epoch: 3, line, outputs: { tasks, traces } }, made.store);
    const index = await readEpochIndex(made.run.path, { epoch: 3, line });
    expect(index?.tasks.map(({ places }) => places.traces.length)).toEqual([1, 0]);
  });
});
