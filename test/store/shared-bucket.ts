import { join } from 'node:path';
import { shareHome } from '../../src/runs/connect-store.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { temporaryFolder } from './temporary-folder.ts';
import type { TwoHomes } from './two-hosts.ts';

/** Homes of two hosts on disks of their own, which share a bucket: its keys begin with `team/`. */
export async function sharedBucket(): Promise<TwoHomes & { s3: FakeS3 }> {
  const s3 = await FakeS3.start();
  const homes: [string, string] = [await temporaryFolder(), await temporaryFolder()];
  for (const home of homes)
    shareHome(s3.bucket('team'), { store: join(home, 'store'), runs: join(home, 'runs') });
  return { s3, homes, [Symbol.asyncDispose]: () => s3[Symbol.asyncDispose]() };
}
