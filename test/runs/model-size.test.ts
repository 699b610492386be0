import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { modelPositions } from '../../src/config/model-folder.ts';
import { modelSize } from '../../src/runs/model-size.ts';
import { memoryFolder } from '../store/temporary-folder.ts';

const sizeOf = (path: string) => modelSize({ type: 'pretrained', path, adapter: null }, 100);

function safetensors(header: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.alloc(24)]);
}

test('a model is as large as the headers of its files say', async () => {
  const folder = await memoryFolder();
  const header = { __metadata__: {}, a: { shape: [2, 3] } };
  await writeFile(join(folder, 'model.safetensors'), safetensors(JSON.stringify(header)));
  expect(sizeOf(folder)?.trained).toBe(6);
});

test.each([
  ['a pointer of Git LFS', Buffer.from('version https://git-lfs.github.com/spec/v1\n')],
  ['an empty file', Buffer.alloc(0)],
  ['a file with a torn header', safetensors('{"a":')],
])('%s in the place of weights is named', async (_, content) => {
  const folder = await memoryFolder();
  await writeFile(join(folder, 'model.safetensors'), content);
  expect(() => sizeOf(folder)).toThrow(
    expect.objectContaining({
      name: 'InvalidConfig',
      message: expect.stringContaining(join(folder, 'model.safetensors')) as string,
    }) as Error,
  );
});

test('a torn configuration of a model is named', async () => {
  const folder = await memoryFolder();
  await writeFile(join(folder, 'config.json'), '{"max_position');
  expect(() => modelPositions(folder)).toThrow(`${join(folder, 'config.json')}: no JSON`);
});
