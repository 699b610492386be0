import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import type { FileRef } from '../../src/store/references.ts';
import { someKey } from './some-key.ts';
import { filesIn, leftovers, temporaryFolder } from './temporary-folder.ts';

/** What two processes get that start the same work at the same moment. */
async function race<T>(what: string, ...args: string[]): Promise<[T[], T[]]> {
  const rivals = [0, 1].map(() => fork(join(import.meta.dirname, 'processes', 'race.ts'), [what, ...args]));
  await Promise.all(rivals.map((rival) => once(rival, 'message')));
  const results = Promise.all(rivals.map(async (rival) => (await once(rival, 'message'))[0] as T[]));
  for (const rival of rivals) rival.send('start');
  return (await results) as [T[], T[]];
}

test('two processes that put the same records store them once', async () => {
  const root = await temporaryFolder();
  const [a, b] = await race<FileRef>('put', root);
  expect(a).toEqual(b);
  expect(await filesIn(root)).toEqual(a.map(({ uri }) => uri).sort());
  for (const ref of a) await new ObjectStore(root).check(ref);
});

test('two processes that put the same folder, over a damaged one, store it once', async () => {
  const root = await temporaryFolder();
  const source = join(root, 'source');
  await mkdir(source);
  for (let file = 0; file < 20; file += 1)
    await writeFile(join(source, `${file}.bin`), Buffer.alloc(1000, file));
  const store = new ObjectStore(join(root, 'store'));
  const ref = await store.putFolder(source);
  await writeFile(join(store.path(ref), '7.bin'), 'damaged');
  const [a, b] = await race<FileRef>('folder', store.root, source);
  expect([...a, ...b].every(({ sha256 }) => sha256 === ref.sha256)).toBe(true);
  await store.check(ref);
  expect(await leftovers(store.root)).toEqual([]);
});

test('of two processes that record under one key, one wins and both know it', async () => {
  const root = await temporaryFolder();
  const [a, b] = await race<{ winner: number }>('record', root);
  expect(a).toEqual(b);
  expect(await new PhaseCache(root).lookup(someKey({ epoch: 3 }))).toEqual(a[3]);
  expect(await leftovers(root)).toEqual([]);
});

test('two processes never hold the same claim', async () => {
  const [a, b] = await race<number>('claim', await temporaryFolder());
  expect([...a, ...b].sort((x, y) => x - y)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});
