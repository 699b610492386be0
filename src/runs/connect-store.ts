import { dirname, join, resolve } from 'node:path';
import { readStoreSettings } from '../config/store-settings.ts';
import type { Bucket } from '../store/bucket.ts';
import { limitCopies } from '../store/copies-limit.ts';
import { shareFolder } from '../store/shared-folders.ts';

/** Kinds of results beside the runs: `RunFolders`. */
const RESULTS = ['comparisons', 'evaluations', 'nightly'];

/**
 * Connects a home folder with the bucket that its `store.json` names, so that its files are read and written
 * there from now on. Without that file nothing changes.
 * @param folders of store and runs, if they are not in the home folder
 * @returns the bucket
 * @throws InvalidConfig naming file and field
 */
export async function connectStore(
  home: string,
  { store = join(home, 'store'), runs = join(home, 'runs') }: { store?: string; runs?: string } = {},
): Promise<Bucket | undefined> {
  const settings = readStoreSettings(home);
  if (settings === undefined) return undefined;
  // Most commands have no bucket, and loading its client takes a while.
  const { Bucket } = await import('../store/bucket.ts');
  const bucket = new Bucket(settings);
  shareHome(bucket, { store, runs });
  if (settings.cacheGigabytes !== undefined) limitCopies(store, settings.cacheGigabytes * 1e9);
  return bucket;
}

/** From now on the folders of a home are kept in a bucket: all that hosts share. */
export function shareHome(bucket: Bucket, { store, runs }: { store: string; runs: string }): void {
  // `served/` stays: it is what the policy server of this host answers for.
  for (const name of ['objects', 'keys', 'work']) shareFolder(join(store, name), bucket, `store/${name}`);
  shareFolder(runs, bucket, 'runs');
  for (const name of RESULTS) shareFolder(join(dirname(resolve(runs)), name), bucket, name);
}
