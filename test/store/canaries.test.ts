import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { readCanary, writeCanary } from '../../src/store/canaries.ts';
import { canaryPath } from '../../src/store/object-paths.ts';
import { folderRef } from '../../src/store/references.ts';
import { scanObjects } from '../../src/store/scan.ts';
import { memoryFolder } from './temporary-folder.ts';

const checkpoint = folderRef('ab'.repeat(32), 1, 1);

it('gives what was written, and nothing that is torn, altered or missing', async () => {
  const root = await memoryFolder();
  expect(await readCanary(root, checkpoint)).toBeUndefined();
  await writeCanary(root, checkpoint, [{ prompt: [1] }]);
  await writeCanary(root, checkpoint, [{ prompt: [1, 2] }]);
  expect(await readCanary(root, checkpoint)).toEqual([{ prompt: [1, 2] }]);
  // It belongs to its checkpoint, and is collected with it.
  expect(await scanObjects(root)).toEqual([{ uri: checkpoint.uri, path: canaryPath(root, checkpoint) }]);
  const text = await readFile(canaryPath(root, checkpoint), 'utf8');
  for (const damaged of [text.slice(0, -5), text.replace('1,2', '1,3'), '']) {
    await writeFile(canaryPath(root, checkpoint), damaged);
    expect(await readCanary(root, checkpoint)).toBeUndefined();
  }
});
