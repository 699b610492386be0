import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Feed } from '../../src/tracking/feed.ts';
import type { Snapshot } from '../../src/tracking/feed.ts';
import { nameHome } from '../../src/tracking/identity.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { StoreUnavailable } from '../../src/store/errors.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { GrowingRun, hostileText, metricsAt } from './growing-run.ts';

const read = async (run: GrowingRun): Promise<Snapshot | null> =>
  new Feed({ home: run.home, runId: run.id, name: await nameHome(run.home) }).read(true);

const start = async (): Promise<GrowingRun> => GrowingRun.start(await memoryFolder());

describe('what is sent of an epoch', () => {
  test('metrics under the ledger’s names, times, settings; what was not measured is absent', async () => {
    const run = await start();
    await run.commitTo(2);
    const { metrics, step, time } = (await (await read(run))?.describe(2))!;
    expect({ step, time }).toEqual({ step: 2, time: Date.UTC(2026, 10, 21, 9, 2) / 1000 });
    expect(metrics).toEqual({
      ...metricsAt(2),
      'rollouts/retried': 0,
      'settings/difficulty.alpha': 0.5,
      'time/epoch': 3,
    });
  });

  test('samples with the texts as they are, and references by hash where they changed', async () => {
    const run = await start();
    await run.commitTo(3);
    const snapshot = (await read(run))!;
    expect((await snapshot.describe(0)).tables).toEqual([]);
    const { tables } = await snapshot.describe(1);
    const row = Object.fromEntries(
      tables[0]!.columns.map((name, index) => [name, tables[0]!.rows[0]![index]]),
    );
    expect(row).toMatchObject({
      text: hostileText,
      answer: hostileText,
      answer_reward: 1,
      success_rate: 0.5,
    });
    const names = async (epoch: number): Promise<string[]> =>
      (await snapshot.describe(epoch)).references.map(({ name }) => name);
    expect(await Promise.all([0, 1, 2, 3].map(names))).toEqual([
      ['ledger', 'agent', 'simulator'],
      ['ledger'],
      ['ledger', 'agent'],
      ['ledger'],
    ]);
    const { references } = await snapshot.describe(3);
    expect(references[0]).toMatchObject({ sha256: hashOf((await run.lines())[3]) });
  });

  test('samples of pruned files are left out, those of a store that is away for a moment are not', async () => {
    const run = await start();
    await run.commitTo(1);
    const snapshot = (await read(run))!;
    const records = vi.spyOn(ObjectStore.prototype, 'records');
    onTestFinished(() => records.mockRestore());
    records.mockImplementation(() => {
      throw new StoreUnavailable('store', 'Wait.', new Error('ECONNREFUSED'));
    });
    await expect(snapshot.describe(1)).rejects.toThrow(StoreUnavailable);
    records.mockRestore();
    expect((await snapshot.describe(1)).tables).toHaveLength(1);
    await rm(join(run.home, 'store'), { recursive: true });
    expect((await snapshot.describe(1)).tables).toEqual([]);
  });

  test('is the same however often it is read, and leaves the ledger as it is', async () => {
    const run = await start();
    await run.commitTo(2);
    const before = await readFile(run.folder.ledgerFile);
    const first = await (await read(run))?.describe(2);
    expect(await (await read(run))?.describe(2)).toEqual(first);
    expect(await readFile(run.folder.ledgerFile)).toEqual(before);
  });
});

test('a run is read again when one of its files has changed, and not before', async () => {
  const run = await start();
  const feed = new Feed({ home: run.home, runId: run.id, name: await nameHome(run.home) });
  expect(await feed.read(true)).toBeNull();
  await run.commitTo(2);
  const snapshot = await feed.read(true);
  expect(snapshot?.epochs).toEqual([0, 1, 2]);
  expect(await feed.read(true)).toBe(snapshot);
  await run.appendLine(3);
  expect((await feed.read(true))?.epochs).toEqual([0, 1, 2]);
  expect((await feed.read(false))?.epochs).toEqual([0, 1, 2, 3]);
  await run.appendMetrics(3);
  expect((await feed.read(true))?.epochs).toEqual([0, 1, 2, 3]);
  await run.rewindTo(1);
  expect(await feed.read(true)).toMatchObject({ epochs: [0, 1], run: { key: await run.key(1) } });
  await run.end('stopped');
  expect((await feed.read(true))?.outcome).toBe('stopped');
});

describe('identity', () => {
  test('follows home, run and rewinds; a fork names its parent', async () => {
    const run = await start();
    await run.commitTo(2);
    const home = await nameHome(run.home);
    expect((await read(run))?.run).toMatchObject({
      key: `${home}-run`,
      group: `${home}-run`,
      supersedes: null,
    });
    await run.rewindTo(1);
    expect((await read(run))?.run).toMatchObject({
      key: `${home}-run-rewind-1`,
      group: `${home}-run`,
      supersedes: `${home}-run`,
    });
    const line = (await run.lines())[1]!;
    const fork = await GrowingRun.start(run.home, 'fork', { run: 'run', epoch: 1, line });
    await fork.commit(2);
    expect((await read(fork))?.run).toMatchObject({
      key: `${home}-fork`,
      group: `${home}-run`,
      fork: { key: `${home}-run-rewind-1`, run: 'run', epoch: 1, ledger: hashOf(line) },
    });
  });
});

describe('what is not sent', () => {
  test('a run before its first epoch, and one whose rewind is under way', async () => {
    const run = await start();
    expect(await read(run)).toBeNull();
    await run.commitTo(2);
    await run.folder.appendEvent({ type: 'rewinding', epoch: 1, set: {} });
    expect(await read(run)).toBeNull();
    await run.folder.appendEvent({ type: 'rewound', epoch: 1 });
    expect((await read(run))?.epochs).toEqual([0, 1, 2]);
  });

  test('lines that do not verify', async () => {
    const run = await start();
    await run.commitTo(1);
    await appendFile(
      run.folder.ledgerFile,
      '{"epoch":2,"inputs":{},"metrics":{},"outputs":{},"previous":"x"}\n',
    );
    const snapshot = await read(run);
    expect(snapshot?.epochs).toEqual([0, 1]);
    expect(snapshot?.problem).toContain('ledger.jsonl');
  });
});
