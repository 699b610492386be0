import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { TestContext } from 'vitest';
import { StoreUnavailable } from '../../src/store/errors.ts';
import { Journal } from '../../src/store/journal.ts';
import { Ledger } from '../../src/store/ledger.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { someKey } from './some-key.ts';
import { collect, entriesOf, filesIn, temporaryFolder } from './temporary-folder.ts';

/** A folder on a file system of its own, of half a megabyte. */
async function smallDisk({ skip }: TestContext): Promise<string> {
  const folder = await temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    skip(`needs the right to mount a tmpfs: ${String(error)}`);
  }
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder]);
  });
  return folder;
}

const remount = (folder: string, how: string) =>
  execFileSync('mount', ['-o', `remount,${how}`, folder], { stdio: 'pipe' });

async function fill(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'filler');
  await writeFile(file, Buffer.alloc(1 << 20)).catch(() => undefined);
  return () => rm(file);
}

async function refused(work: Promise<unknown>, ...words: string[]): Promise<void> {
  const problem = await work.catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(StoreUnavailable);
  expect(problem).toMatchObject({ name: 'StoreUnavailable', retryable: true });
  for (const word of words) expect(String(problem)).toContain(word);
}

test('a put on a full disk says so, leaves nothing, and succeeds when there is room', async (context) => {
  const store = new ObjectStore(await smallDisk(context));
  const records = Array.from({ length: 300 }, (_, index) => ({ index, text: 'x'.repeat(4000) }));
  await refused(store.putRecords(records), 'ENOSPC', store.root, 'genenv gc');
  expect(await filesIn(store.root)).toEqual([]);
  const free = await fill(store.root);
  await refused(store.putText('small'), 'ENOSPC');
  await free();
  const ref = await store.putRecords(records.slice(0, 20));
  expect(await collect(store.records(ref))).toHaveLength(20);
});

test('a journal on a full disk keeps what it has, and continues when there is room', async (context) => {
  const folder = await smallDisk(context);
  const path = join(folder, 'requests.jsonl');
  const journal = await Journal.open<unknown>(path);
  await journal.append({ request: 0 });
  const free = await fill(folder);
  await refused(journal.append({ request: 1, text: 'x'.repeat(9000) }), 'ENOSPC', path);
  await free();
  await journal.append({ request: 2 });
  await journal.close();
  expect(await entriesOf(path)).toEqual([{ request: 0 }, { request: 2 }]);
});

test('a ledger on a full disk keeps its lines, and takes the same line when there is room', async (context) => {
  const folder = await smallDisk(context);
  const ledger = new Ledger(join(folder, 'ledger.jsonl'), 'anchor');
  const body = (epoch: number) => ({ epoch, inputs: { text: 'x'.repeat(9000) }, outputs: {}, metrics: {} });
  await ledger.append(body(0));
  const free = await fill(folder);
  await refused(ledger.append(body(1)), 'ENOSPC');
  expect(await ledger.read()).toHaveLength(1);
  await free();
  await ledger.append(body(1));
  expect(await ledger.read()).toHaveLength(2);
});

test('a read-only disk can be read, and says what to do about writing', async (context) => {
  const root = await smallDisk(context);
  const [store, keys] = [new ObjectStore(root), new PhaseCache(root)];
  const ref = await store.putText('x');
  await keys.record(someKey(), ref);
  remount(root, 'ro');
  expect(await store.text((await keys.lookup(someKey())) ?? ref)).toBe('x');
  await refused(store.putText('y'), 'EROFS', 'remount it writable');
  await refused(keys.record(someKey({ epoch: 8 }), ref), 'EROFS');
  remount(root, 'rw');
  expect(await store.putText('x')).toEqual(ref);
});
