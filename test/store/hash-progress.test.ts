import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ObjectStore } from '../../src/store/object-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

test(
  'hashing a large folder says how far it is, when it is put and when it is checked',
  { timeout: 120_000 },
  async () => {
    const root = await temporaryFolder();
    const folder = join(root, 'checkpoint');
    await mkdir(folder);
    await writeFile(join(folder, 'small.json'), '{}');
    await writeFile(join(folder, 'weights'), '');
    await truncate(join(folder, 'weights'), 200 << 20);
    const beats: number[] = [];
    const store = new ObjectStore(join(root, 'store'), { onHashed: ({ bytes }) => beats.push(bytes >> 20) });
    const ref = await store.putFolder(folder, { move: true });
    expect(beats).toEqual([64, 128, 192]);
    await store.check(ref);
    expect(beats).toEqual([64, 128, 192, 64, 128, 192]);
  },
);
