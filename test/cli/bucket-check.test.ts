import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { checkBucket } from '../../src/cli/lib/environment-checks.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

afterEach(() => vi.unstubAllEnvs());

const homeOf = async ({ endpoint }: FakeS3): Promise<string> => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'planted-secret');
  const home = await temporaryFolder();
  await writeFile(join(home, 'store.json'), JSON.stringify({ type: 's3', bucket: 'runs', endpoint }));
  return home;
};

test('without a bucket there is nothing to check', async () => {
  expect(await checkBucket(await temporaryFolder())).toEqual([]);
});

test('a bucket whose conditional writes hold is right', async () => {
  await using s3 = await FakeS3.start();
  expect(await checkBucket(await homeOf(s3))).toMatchObject([{ what: 'Bucket', state: 'ok' }]);
});

test('one that lets every writer win is refused by name', async () => {
  await using s3 = await FakeS3.start();
  s3.ignoresConditions = true;
  const [check] = await checkBucket(await homeOf(s3));
  expect(check).toMatchObject({ what: 'Bucket', state: 'missing' });
  expect(check!.finding).toMatch(/s3:\/\/runs\/.*of 32 writers that created one object at once 32 were told/);
  expect(JSON.stringify(check)).not.toContain('planted-secret');
});
