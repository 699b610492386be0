import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { limitCopies, removeExcessCopies } from '../../src/store/copies-limit.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import type { ObjectStore } from '../../src/store/object-store.ts';
import type { FileRef, FolderRef } from '../../src/store/references.ts';
import { openWork } from '../../src/store/work-folder.ts';
import type { FakeS3 } from '../../test-support/fake-s3.ts';
import { sharedBucket } from './shared-bucket.ts';
import { someKey } from './some-key.ts';
import { collect, temporaryFolder } from './temporary-folder.ts';
import { hostsOf } from './two-hosts.ts';

async function putSomeFolder(store: ObjectStore): Promise<FolderRef> {
  const source = join(await temporaryFolder(), 'checkpoint');
  await mkdir(source);
  await writeFile(join(source, 'config.json'), '{}');
  await writeFile(join(source, 'model.safetensors'), 'weights');
  return store.putFolder(source);
}

/** Other bytes of the same size, as a disk of the server may make of them. */
function damage(s3: FakeS3, key: string): void {
  const stored = s3.objects.get(key)!;
  s3.objects.set(key, { ...stored, data: Buffer.alloc(stored.data.length, 'x') });
}

const isHere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

describe('a reference that lies about an intact object', () => {
  const lies = (ref: FileRef): FileRef[] => [
    { ...ref, bytes: 1, count: 1 },
    { ...ref, bytes: ref.bytes + 1 },
    { ...ref, count: ref.count + 1 },
  ];

  test('of a file is refused, and nothing is removed: neither from the bucket nor from the disk', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const records = [{ text: 'some' }, { text: 'other' }];
    const ref = await a.store.putRecords(records);
    const before = [...shared.s3.objects];
    for (const { store } of [a, b]) {
      for (const lie of lies(ref)) {
        await expect(store.json(lie)).rejects.toThrow(InvalidArtifact);
        await expect(store.check(lie)).rejects.toThrow(InvalidArtifact);
        await expect(store.requireAll({ ...lie, bytes: 1 })).rejects.toThrow(InvalidArtifact);
        await store.localPath(lie).catch(() => undefined);
        expect([...shared.s3.objects]).toEqual(before);
        // What is under the name is the whole object, if anything.
        if (await isHere(store.path(ref))) expect((await readFile(store.path(ref))).length).toBe(ref.bytes);
      }
      expect(await collect(store.records(ref))).toEqual(records);
    }
    // Of a copy that was there, no byte was fetched again.
    shared.s3.fault = () => 'busy';
    for (const lie of lies(ref)) await expect(a.store.json(lie)).rejects.toThrow(InvalidArtifact);
    expect(await collect(a.store.records(ref))).toEqual(records);
  });

  test('of a folder is refused, and its manifest and files stay', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const ref = await putSomeFolder(a.store);
    const before = [...shared.s3.objects];
    for (const { store } of [a, b]) {
      for (const lie of lies(ref)) {
        await expect(store.check(lie)).rejects.toThrow(/the reference says/);
        expect([...shared.s3.objects]).toEqual(before);
        expect(await isHere(join(store.path(ref), 'model.safetensors'))).toBe(true);
      }
      await store.check(ref);
    }
  });
});

describe('an object that is damaged in the bucket', () => {
  test('is removed there when all of its bytes prove it, whatever the reference says', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const ref = await a.store.putText('a text that is long enough');
    damage(shared.s3, `team/store/${ref.uri}`);
    await expect(b.store.check({ ...ref, bytes: 1 })).rejects.toThrow(/it has more than the 1 bytes/);
    expect(shared.s3.objects.size).toBe(1);
    await expect(b.store.check(ref)).rejects.toThrow(/altered or torn/);
    expect(shared.s3.objects.size).toBe(0);
    await a.store.putText('a text that is long enough');
    expect(await b.store.text(ref)).toBe('a text that is long enough');
  });

  test('is removed with its manifest if it is a folder of which one file is damaged', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const ref = await putSomeFolder(a.store);
    damage(shared.s3, `team/store/${ref.uri}model.safetensors`);
    await expect(b.store.check(ref)).rejects.toThrow(/model\.safetensors: altered or torn/);
    expect([...shared.s3.objects.keys()]).toEqual([]);
    expect(await putSomeFolder(a.store)).toEqual(ref);
    await b.store.check(ref);
  });

  test('stays if it was damaged on the way alone', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const ref = await a.store.putText('some text');
    const key = `team/store/${ref.uri}`;
    const intact = shared.s3.objects.get(key)!;
    let reads = 0;
    shared.s3.fault = ({ method }) => {
      if (method !== 'GET') return undefined;
      reads += 1;
      return reads > 3 ? undefined : { status: 200, data: Buffer.alloc(ref.bytes, 'x') };
    };
    await expect(b.store.check(ref)).rejects.toThrow(/altered or torn/);
    expect(shared.s3.objects.get(key)).toBe(intact);
    await b.store.check(ref);
  });

  test('stays if somebody has put it again while it was read', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const ref = await a.store.putText('some text');
    const key = `team/store/${ref.uri}`;
    const intact = shared.s3.objects.get(key)!;
    damage(shared.s3, key);
    let measured = 0;
    shared.s3.fault = ({ method }) => {
      if (method === 'HEAD' && (measured += 1) === 2)
        shared.s3.objects.set(key, { ...intact, modified: new Date(intact.modified.getTime() + 5_000) });
      return undefined;
    };
    await expect(b.store.check(ref)).rejects.toThrow(/altered or torn/);
    await b.store.check(ref);
  });
});

describe('a limit of copies', () => {
  test('spares what a training job that waits names, and nothing once its folder is gone', async () => {
    await using shared = await sharedBucket();
    const [{ store, root }] = hostsOf(shared);
    const checkpoint = await putSomeFolder(store);
    const batch = await store.putRecords([{ text: 'batch' }]);
    const unneeded = await store.putText('nobody waits for it');
    const work = await openWork(root, someKey());
    const job = { model: { path: await store.localPath(checkpoint) }, batch: await store.localPath(batch) };
    await writeFile(join(work.path, 'job.json'), JSON.stringify(job));
    limitCopies(root, 1);
    const hour = 3_600_000;
    const requests = { ...shared.s3.counts };
    await removeExcessCopies(root, Date.now() + hour);
    expect(shared.s3.counts).toEqual(requests);
    expect(await isHere(store.path(unneeded))).toBe(false);
    expect(await isHere(join(job.model.path, 'model.safetensors'))).toBe(true);
    expect(await isHere(job.batch)).toBe(true);
    await work.remove();
    await removeExcessCopies(root, Date.now() + 2 * hour);
    expect(await isHere(job.model.path)).toBe(false);
    expect(await isHere(job.batch)).toBe(false);
  });
});
