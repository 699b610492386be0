/** Pipes and links in the place of small files of the store: opening a pipe would take a thread for ever. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readCanary, writeCanary } from '../../src/store/canaries.ts';
import type { Damage } from '../../src/store/errors.ts';
import { canaryPath } from '../../src/store/object-paths.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { folderRef } from '../../src/store/references.ts';
import { scanKeys } from '../../src/store/scan.ts';
import { someKey } from './some-key.ts';
import { leftovers, temporaryFolder } from './temporary-folder.ts';

const damage: Damage[] = [];
let home: string;
let keys: PhaseCache;
beforeEach(async () => {
  home = await temporaryFolder();
  damage.length = 0;
  const { root } = new ObjectStore(join(home, 'store'));
  keys = new PhaseCache(root, { onDamage: (event) => damage.push(event) });
});

/** What is put in the place of a file, which is moved elsewhere. */
const replacements: Record<string, (path: string) => void> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a link to what was there': (path) => symlinkSync(join(home, 'elsewhere'), path),
  'a folder': (path) => mkdirSync(join(path, 'deep'), { recursive: true }),
};
const replace = (path: string, kind: string): void => {
  renameSync(path, join(home, 'elsewhere'));
  replacements[kind]!(path);
};

describe.each(Object.keys(replacements))('%s', (kind) => {
  it('in the place of a record is removed, said, and the work recorded again', async () => {
    await keys.record(someKey(), { loss: 1 });
    const file = keys.path(someKey());
    replace(file, kind);
    expect(await scanKeys(keys.root)).toEqual([]);
    expect(await keys.record(someKey(), { loss: 2 })).toEqual({ loss: 2 });
    expect(damage).toMatchObject([{ file }]);
    expect(await keys.lookup(someKey())).toEqual({ loss: 2 });
    expect(await scanKeys(keys.root)).toMatchObject([{ file, key: someKey() }]);
    expect(await leftovers(keys.root)).toEqual([]);
  });

  it('in the place of a canary is none', async () => {
    const checkpoint = folderRef('ab'.repeat(32), 1, 1);
    await writeCanary(keys.root, checkpoint, [{ prompt: [1] }]);
    replace(canaryPath(keys.root, checkpoint), kind);
    expect(await readCanary(keys.root, checkpoint)).toBeUndefined();
  });
});

it('a record in a folder that is a link is neither read nor removed', async () => {
  await keys.record(someKey(), { loss: 1 });
  const folder = dirname(keys.path(someKey()));
  renameSync(folder, join(home, 'elsewhere'));
  symlinkSync(join(home, 'elsewhere'), folder);
  await expect(keys.lookup(someKey())).rejects.toThrow('a folder above it is a link');
  expect(await scanKeys(keys.root)).toEqual([]);
  expect(damage).toEqual([]);
});
