import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonicalJson, sha256 } from '../../src/store/canonical-json.ts';
import { InvalidArtifact, NotSerializable } from '../../src/store/errors.ts';
import type { Damage } from '../../src/store/errors.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { FileRef, FolderRef } from '../../src/store/references.ts';
import { collect, eventually, filesIn, leftovers, temporaryFolder } from './temporary-folder.ts';

const records = [
  { text: 'line\u2028separator\nand\r\n"quotes" €', token_ids: [1, 2] },
  { b: 1, a: null },
  {},
];

async function flipBit(file: string, at = 3): Promise<void> {
  const data = await readFile(file);
  data[at] = (data[at] ?? 0) ^ 1;
  await writeFile(file, data);
}

async function checkpoint(folder: string): Promise<string> {
  await mkdir(join(folder, 'tokenizer'), { recursive: true });
  await writeFile(join(folder, 'model.safetensors'), Buffer.alloc(5000, 7));
  await writeFile(join(folder, 'config.json'), '{"model_type":"llama"}');
  await writeFile(join(folder, 'tokenizer', 'vocab.txt'), 'a\nb\n');
  return folder;
}

describe('files', () => {
  test('records come back as they were, from lists and from async generators', async () => {
    const store = new ObjectStore(await temporaryFolder());
    const ref = await store.putRecords(eventually(records));
    expect(FileRef.parse(ref)).toMatchObject({
      uri: `objects/${ref.sha256.slice(0, 2)}/${ref.sha256}.jsonl`,
      count: 3,
    });
    expect(await collect(store.records(ref))).toEqual(records);
    expect(await store.putRecords(records)).toEqual(ref);
    expect((await stat(store.path(ref))).size).toBe(ref.bytes);
    expect(sha256(await readFile(store.path(ref)))).toBe(ref.sha256);
  });

  test('an empty set of records is a file too', async () => {
    const store = new ObjectStore(await temporaryFolder());
    const ref = await store.putRecords([]);
    expect(ref).toMatchObject({ bytes: 0, count: 0 });
    expect(await collect(store.records(ref))).toEqual([]);
  });

  test('values and texts come back', async () => {
    const store = new ObjectStore(await temporaryFolder());
    expect(await store.json(await store.putJson({ b: [1.5], a: 'x' }))).toEqual({ a: 'x', b: [1.5] });
    expect(await store.text(await store.putText('ångström\n'))).toBe('ångström\n');
  });

  test('what is put again is not written again', async () => {
    const store = new ObjectStore(await temporaryFolder());
    const ref = await store.putRecords(records);
    const { ino } = await stat(store.path(ref));
    await store.putRecords(records);
    expect((await stat(store.path(ref))).ino).toBe(ino);
    expect(await filesIn(store.root)).toHaveLength(1);
  });

  test('a source that fails leaves nothing', async () => {
    const store = new ObjectStore(await temporaryFolder());
    await expect(store.putRecords([{ a: 1 }, { a: NaN }])).rejects.toThrow(NotSerializable);
    expect(await filesIn(store.root)).toEqual([]);
  });

  test.each([
    ['a flipped bit', (file: string) => flipBit(file)],
    ['a cut end', (file: string) => truncate(file, 10)],
    ['an addition', (file: string) => appendFile(file, '{}\n')],
    ['a missing file', (file: string) => rm(file)],
  ])('%s is found before a record is read, and mended by the next put', async (_, damage) => {
    const said: Damage[] = [];
    const store = new ObjectStore(await temporaryFolder(), { onDamage: (damage) => said.push(damage) });
    const ref = await store.putRecords(records);
    await damage(store.path(ref));
    const problem = await store
      .records(ref)
      .next()
      .catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(InvalidArtifact);
    expect(problem).toMatchObject({ file: store.path(ref), expected: ref.sha256 });
    expect(String(problem)).toContain(store.path(ref));
    await expect(store.check(ref)).rejects.toThrow(InvalidArtifact);
    await store.putRecords(records);
    expect(await collect(store.records(ref))).toEqual(records);
    expect(said.map(({ file }) => file)).toEqual(_ === 'a missing file' ? [] : [store.path(ref)]);
    expect(await leftovers(store.root)).toEqual([]);
  });

  test('a reference with another count or size is refused', async () => {
    const store = new ObjectStore(await temporaryFolder());
    const ref = await store.putRecords(records);
    await expect(store.check({ ...ref, count: 2 })).rejects.toThrow('says 2 records, the file has 3');
    await expect(store.check({ ...ref, bytes: 1 })).rejects.toThrow(InvalidArtifact);
  });

  test('no reference leads out of the store', async () => {
    const store = new ObjectStore(await temporaryFolder());
    const ref = await store.putText('x');
    expect(() => store.path({ ...ref, uri: '../../etc/passwd' })).toThrow(
      'uri: expected objects/<aa>/<sha256>',
    );
    expect(() =>
      store.path({ ...ref, uri: ref.uri.replace(/\/[0-9a-f]{64}/, `/${'0'.repeat(64)}`) }),
    ).toThrow();
  });

  test('files above 64 MB are checked first, then streamed', async () => {
    const store = new ObjectStore(await temporaryFolder());
    const text = '€'.repeat(50_000);
    const ref = await store.putRecords(
      (function* () {
        for (let index = 0; index < 480; index += 1) yield { index, text };
      })(),
    );
    expect(ref.bytes).toBeGreaterThan(64 << 20);
    let next = 0;
    for await (const record of store.records<{ index: number; text: string }>(ref)) {
      expect(record.index).toBe(next);
      expect(record.text === text).toBe(true);
      next += 1;
    }
    expect(next).toBe(480);
    await flipBit(store.path(ref), ref.bytes - 20);
    await expect(store.records(ref).next()).rejects.toThrow(InvalidArtifact);
  });
});

describe('folders', () => {
  test.each([false, true])(
    'a folder is stored as it is (move: %s), and its source left until the caller removes it',
    async (move) => {
      const root = await temporaryFolder();
      const store = new ObjectStore(join(root, 'store'));
      const source = await checkpoint(join(root, 'output'));
      const ref = await store.putFolder(source, { move });
      expect(FolderRef.parse(ref)).toMatchObject({
        uri: `objects/${ref.sha256.slice(0, 2)}/${ref.sha256}/`,
        bytes: 5026,
        count: 3,
      });
      expect(await filesIn(store.path(ref))).toEqual([
        'config.json',
        'model.safetensors',
        'tokenizer/vocab.txt',
      ]);
      await expect(store.putFolder(source, { move })).resolves.toEqual(ref);
      await rm(source, { recursive: true });
      await store.check(ref);
      const manifest = await readFile(`${store.path(ref)}.manifest.json`, 'utf8');
      expect(sha256(manifest)).toBe(ref.sha256);
      expect(canonicalJson(JSON.parse(manifest))).toBe(manifest);
      expect((await readdir(join(store.root, 'objects'))).filter((name) => name.endsWith('.tmp'))).toEqual(
        [],
      );
    },
  );

  test('moving copies no bytes on the same file system', async () => {
    const root = await temporaryFolder();
    const store = new ObjectStore(join(root, 'store'));
    const source = await checkpoint(join(root, 'output'));
    const { ino } = await stat(join(source, 'model.safetensors'));
    const moved = await store.putFolder(source, { move: true });
    expect((await stat(join(store.path(moved), 'model.safetensors'))).ino).toBe(ino);
  });

  test.each([
    ['an altered file', (folder: string) => flipBit(join(folder, 'model.safetensors')), 'model.safetensors'],
    ['a missing file', (folder: string) => rm(join(folder, 'config.json')), 'config.json'],
    [
      'an added file',
      (folder: string) => writeFile(join(folder, 'pytorch_model.bin'), ''),
      'pytorch_model.bin',
    ],
    ['an altered manifest', (folder: string) => flipBit(`${folder}.manifest.json`), 'manifest.json'],
    ['a missing manifest', (folder: string) => rm(`${folder}.manifest.json`), 'manifest.json'],
    ['a missing folder', (folder: string) => rm(folder, { recursive: true }), ''],
  ])('%s is named, and mended by the next put', async (_, damage, file) => {
    const root = await temporaryFolder();
    const store = new ObjectStore(join(root, 'store'));
    const source = await checkpoint(join(root, 'output'));
    const ref = await store.putFolder(source);
    await damage(store.path(ref));
    const problem = await store.check(ref).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(InvalidArtifact);
    expect((problem as InvalidArtifact).file.endsWith(file || basename(store.path(ref)))).toBe(true);
    await store.putFolder(source);
    await store.check(ref);
    expect(await filesIn(dirname(store.path(ref)))).toHaveLength(4);
  });

  test('an empty folder is no checkpoint', async () => {
    const root = await temporaryFolder();
    await mkdir(join(root, 'output'));
    await expect(new ObjectStore(join(root, 'store')).putFolder(join(root, 'output'))).rejects.toThrow(
      'the folder is empty',
    );
  });
});
