import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashOf } from '../../src/store/canonical-json.ts';
import type { Damage } from '../../src/store/errors.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { someKey } from './some-key.ts';
import { filesIn, leftovers, memoryFolder } from './temporary-folder.ts';

async function keysWithDamage() {
  const said: Damage[] = [];
  const root = await memoryFolder();
  return { root, said, keys: new PhaseCache(root, { onDamage: (damage) => said.push(damage) }) };
}

test('what is recorded is found, under that key alone', async () => {
  const { root, keys } = await keysWithDamage();
  expect(await keys.lookup(someKey({ shard: 3 }))).toBeUndefined();
  await keys.record(someKey({ shard: 3 }), { done: 1 });
  expect(await keys.lookup(someKey({ shard: 3 }))).toEqual({ done: 1 });
  for (const change of [
    {},
    { shard: 4 },
    { shard: 3, epoch: 8 },
    { shard: 3, experiment: 'b' },
    { shard: 3, inputHash: hashOf('other') },
  ])
    expect(await keys.lookup(someKey(change))).toBeUndefined();
  expect(await filesIn(root)).toEqual([`keys/night-1/0007/train-agent/03/${hashOf('input')}.json`]);
});

test('the first record stands', async () => {
  const { keys } = await keysWithDamage();
  expect(await keys.record(someKey(), { by: 'first' })).toEqual({ by: 'first' });
  expect(await keys.record(someKey(), { by: 'second' })).toEqual({ by: 'first' });
});

test('a record torn at any byte, or with any bit flipped, is removed, said, and made again', async () => {
  const { root, keys, said } = await keysWithDamage();
  await keys.record(someKey(), { loss: 0.25 });
  const file = keys.path(someKey());
  const intact = await readFile(file);
  for (let at = 0; at < intact.length; at += 1) {
    await truncate(file, at);
    expect(await keys.lookup(someKey())).toBeUndefined();
    const flipped = Buffer.from(intact);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    await writeFile(file, flipped);
    expect(await keys.lookup(someKey())).toBeUndefined();
    expect(said.splice(0).map(({ file: damaged }) => damaged)).toEqual([file, file]);
    await writeFile(file, intact);
  }
  await truncate(file, 5);
  expect(await keys.record(someKey(), { loss: 0.5 })).toEqual({ loss: 0.5 });
  expect(await leftovers(root)).toEqual([]);
});

test("a record in another key's place is not taken for its own", async () => {
  const { keys, said } = await keysWithDamage();
  await keys.record(someKey(), { loss: 1 });
  await keys.record(someKey({ epoch: 8 }), { loss: 2 });
  await writeFile(keys.path(someKey()), await readFile(keys.path(someKey({ epoch: 8 }))));
  expect(await keys.lookup(someKey())).toBeUndefined();
  expect(said).toHaveLength(1);
});

test('a record whose objects are not whole is dropped, so that another result can be recorded', async () => {
  const { root, keys, said } = await keysWithDamage();
  const store = new ObjectStore(join(root, 'store'));
  const ref = await store.putText('rewards');
  const checkAll = (value: unknown) => store.checkAll(value);
  await keys.record(someKey(), { files: [ref] });
  expect(await keys.lookup(someKey(), checkAll)).toEqual({ files: [ref] });
  await truncate(store.path(ref), 2);
  expect(await keys.lookup(someKey(), checkAll)).toBeUndefined();
  expect(said[0]?.problem).toContain(store.path(ref));
  expect(await keys.record(someKey(), { files: [] })).toEqual({ files: [] });
});

test.each([
  { experiment: '../x' },
  { experiment: '.x' },
  { epoch: -1 },
  { epoch: 1.5 },
  { phase: 'a/b' },
  { phase: 'train-2' },
  { shard: -1 },
  { inputHash: 'abc' },
])('a key that is no path is refused: %o', async (part) => {
  const { keys } = await keysWithDamage();
  await expect(keys.lookup(someKey(part))).rejects.toThrow(InvalidConfig);
});
