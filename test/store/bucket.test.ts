import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requireOneWinner } from '../../src/store/bucket-probe.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import type { S3Answer } from '../../test-support/fake-s3.ts';
import { temporaryFolder } from './temporary-folder.ts';

const text = (value: string): Buffer => Buffer.from(value);

test('exactly one of many writers creates an object, and a writer is told by its own bytes', async () => {
  await using s3 = await FakeS3.start();
  const bucket = s3.bucket('team/runs');
  const wins = await Promise.all(
    Array.from({ length: 16 }, (_, writer) => bucket.create('claim', text(`writer ${writer}`))),
  );
  expect(wins.filter(Boolean)).toHaveLength(1);
  expect([...s3.objects.keys()]).toEqual(['team/runs/claim']);
  expect(await bucket.create('claim', (await bucket.read('claim'))!)).toBe(true);
});

test('a write whose answer was lost is known to have been done', async () => {
  await using s3 = await FakeS3.start();
  const bucket = s3.bucket();
  let isLost = false;
  s3.fault = ({ method }) => {
    if (method !== 'PUT' || isLost) return undefined;
    isLost = true;
    return 'lost';
  };
  expect(await bucket.create('claim', text('mine'))).toBe(true);
  expect(isLost).toBe(true);
  expect(await bucket.create('claim', text('of another'))).toBe(false);
});

test('a busy server and a conflict are asked again', async () => {
  await using s3 = await FakeS3.start();
  const bucket = s3.bucket();
  let refused = 0;
  s3.fault = ({ method }) => {
    if (method !== 'PUT' || refused >= 3) return undefined;
    refused += 1;
    return refused === 1 ? 'busy' : 'conflict';
  };
  expect(await bucket.create('claim', text('mine'))).toBe(true);
  expect(refused).toBe(3);
});

test('a server that stays busy is an error that can be tried again, without credentials in it', async () => {
  await using s3 = await FakeS3.start();
  s3.fault = () => 'busy';
  const error = await s3
    .bucket('', 2)
    .read('a')
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'StoreUnavailable', retryable: true, path: 's3://runs/a' });
  expect(String(error)).not.toContain('secret');
});

test.each(['read', 'measure', 'create', 'list', 'hash'] as const)(
  'a server that is silent is an error that can be tried again, soon: %s',
  async (method) => {
    await using s3 = await FakeS3.start();
    s3.fault = () => 'silent';
    const bucket = s3.bucket('', 6, 200);
    const error = await bucket[method]('a', text('a') as never).catch((thrown: unknown) => thrown);
    const cause = expect.objectContaining({
      message: expect.stringContaining('no answer within 0.2 s') as string,
    }) as unknown;
    expect(error).toMatchObject({ name: 'StoreUnavailable', retryable: true, cause });
    expect(Object.values(s3.counts)).toEqual([1]);
  },
);

test('lists and folders follow all pages, below the prefix', async () => {
  await using s3 = await FakeS3.start();
  const bucket = s3.bucket('p');
  const keys = ['a/1', 'a/2', 'a/3', 'b/1', 'c', 'd/e/f'];
  for (const key of keys) await bucket.put(key, text(key));
  await s3.bucket('other').put('z', text('z'));
  expect((await bucket.list('')).map(({ key }) => key)).toEqual(keys);
  expect((await bucket.list('a/')).map(({ key, bytes }) => [key, bytes])).toEqual([
    ['a/1', 3],
    ['a/2', 3],
    ['a/3', 3],
  ]);
  expect(await bucket.folders('')).toEqual(['a', 'b', 'd']);
  expect(await bucket.folders('d/')).toEqual(['e']);
  await bucket.remove('a/1');
  await bucket.remove('a/1');
  expect(await bucket.read('a/1')).toBeUndefined();
  expect(await bucket.measure('a/1')).toBeUndefined();
});

test('a large file goes up in parts, and comes down over connections that are cut', async () => {
  await using s3 = await FakeS3.start();
  const folder = await temporaryFolder();
  const bucket = s3.bucket();
  const data = randomBytes(20 << 20);
  const file = join(folder, 'weights');
  await writeFile(file, data);
  await bucket.upload('weights', file);
  expect(s3.counts).toMatchObject({ PUT: 3, POST: 2 });
  expect(s3.objects.get('weights')?.data.equals(data)).toBe(true);
  let cuts = 0;
  s3.fault = ({ method }) => {
    if (method !== 'GET' || cuts >= 3) return undefined;
    cuts += 1;
    return 'cut';
  };
  const copy = join(folder, 'copy');
  expect(await bucket.download('weights', copy, data.length + 1)).toBe(true);
  expect(cuts).toBe(3);
  expect((await readFile(copy)).equals(data)).toBe(true);
  expect(await bucket.download('absent', join(folder, 'absent'), 1)).toBe(false);
});

test('a file that is there is not sent twice, and one that was put long ago is renewed', async () => {
  await using s3 = await FakeS3.start();
  const folder = await temporaryFolder();
  const bucket = s3.bucket();
  const file = join(folder, 'tasks');
  await writeFile(file, 'tasks');
  await bucket.upload('tasks', file);
  const first = s3.objects.get('tasks');
  await bucket.upload('tasks', file);
  expect(s3.objects.get('tasks')).toBe(first);
  s3.objects.set('tasks', { ...first!, modified: new Date(0) });
  await bucket.upload('tasks', file);
  expect(s3.objects.get('tasks')!.modified.getTime()).toBeGreaterThan(0);
});

test('a bucket whose conditional writes do not hold is refused by name', async () => {
  await using s3 = await FakeS3.start();
  await requireOneWinner(s3.bucket());
  expect(s3.objects.size).toBe(0);
  const bucket = s3.bucket();
  bucket.create = async (key, data) => {
    await bucket.put(key, data);
    return true;
  };
  await expect(requireOneWinner(bucket)).rejects.toThrow(
    /s3:\/\/runs\/.*of 32 writers that created one object at once 32 were told that they did/,
  );
});

const proxyAnswers: Record<string, S3Answer> = {
  'a text': { status: 404, data: text('404 page not found') },
  'a page': { status: 404, headers: { 'content-type': 'text/html' }, data: text('<html>Not Found</html>') },
  'another code': { status: 404, data: text('<?xml version="1.0"?><Error><Code>NotFound</Code></Error>') },
  'an empty body': { status: 404 },
  'a bucket that is gone': { status: 404, data: text('<Error><Code>NoSuchBucket</Code></Error>') },
};

test.each(Object.entries(proxyAnswers))(
  'a 404 with %s is not taken for an object that does not exist',
  async (_, answer) => {
    await using s3 = await FakeS3.start();
    const bucket = s3.bucket('', 2);
    await bucket.put('a', text('bytes'));
    s3.fault = () => answer;
    const away = { name: 'StoreUnavailable', retryable: true };
    const file = join(await temporaryFolder(), 'copy');
    await expect(bucket.read('a')).rejects.toMatchObject(away);
    await expect(bucket.measure('a')).rejects.toMatchObject(away);
    await expect(bucket.download('a', file, 9)).rejects.toMatchObject(away);
    await expect(bucket.hash('a')).rejects.toMatchObject(away);
    await expect(bucket.list('')).rejects.toMatchObject(away);
    await expect(bucket.remove('a')).rejects.toMatchObject(away);
    await expect(bucket.create('a', text('bytes'))).rejects.toMatchObject(away);
    s3.fault = () => undefined;
    expect((await bucket.read('a'))?.toString()).toBe('bytes');
  },
);

test('a server without request ids is asked by a GET whether an object does not exist', async () => {
  await using s3 = await FakeS3.start();
  const bucket = s3.bucket();
  await bucket.put('a', text('bytes'));
  const entry = await bucket.measure('a');
  expect(await bucket.measure('b')).toBeUndefined();
  expect(s3.counts).toEqual({ PUT: 1, HEAD: 2 });
  s3.givesRequestIds = false;
  expect(await bucket.measure('b')).toBeUndefined();
  expect(s3.counts).toEqual({ PUT: 1, HEAD: 3, GET: 1 });
  s3.fault = ({ method }) => (method === 'HEAD' ? { status: 404 } : undefined);
  expect(await bucket.measure('a')).toEqual(entry);
});
