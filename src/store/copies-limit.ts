/** What copies of a bucket's objects may take on this disk: those that were used longest ago go first. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { atomicRemove } from './atomic-write.ts';
import { InvalidArtifact, undefinedIfMissing } from './errors.ts';
import { measureOnDisk, scanWorkOnDisk, urisInWork } from './scan.ts';

const limits = new Map<string, { maxBytes: number; lookedAt: number }>();

/** Bounds the copies in a store's folder from now on. */
export const limitCopies = (root: string, maxBytes: number): void =>
  void limits.set(resolve(root), { maxBytes, lookedAt: 0 });

/**
 * An activity reads what it has fetched within this time, or fetches it again. A training job cannot fetch, and may
 * wait for days for a device: what its folder names stays.
 */
const MIN_AGE_MS = 600_000;
/** Between two looks at the disk. */
const INTERVAL_MS = 60_000;

/**
 * Removes copies beyond the limit, if there is one; at most once a minute. A copy that is missing is fetched when
 * it is needed, and a process that has it open keeps it until it closes it. A copy that a work folder on this disk
 * names stays, whichever worker has begun the work.
 * @param now milliseconds since 1970
 */
export async function removeExcessCopies(root: string, now = Date.now()): Promise<void> {
  const limit = limits.get(resolve(root));
  if (limit === undefined || now - limit.lookedAt < INTERVAL_MS) return;
  limit.lookedAt = now;
  const copies = await listCopies(join(root, 'objects'));
  let total = copies.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= limit.maxBytes) return;
  const neededPaths = await pathsInWork(root);
  for (const { path, bytes, usedMs } of copies.sort((a, b) => a.usedMs - b.usedMs)) {
    if (total <= limit.maxBytes || usedMs > now - MIN_AGE_MS) return;
    if (neededPaths.has(path)) continue;
    await atomicRemove(path);
    for (const companion of ['manifest', 'canary']) await rm(`${path}.${companion}.json`, { force: true });
    total -= bytes;
  }
}

/** Paths of the copies that unfinished work on this disk names. */
async function pathsInWork(root: string): Promise<Set<string>> {
  const paths = new Set<string>();
  for (const { path } of await scanWorkOnDisk(root))
    for (const uri of await urisOf(path)) paths.add(join(root, uri.replace(/\/$/, '')));
  return paths;
}

/** A link in the place of a job's file names nothing: no job is started with it. */
const urisOf = (work: string): Promise<string[]> =>
  urisInWork(work).catch((error: unknown) => {
    if (error instanceof InvalidArtifact) return [];
    throw error;
  });

async function listCopies(objects: string): Promise<{ path: string; bytes: number; usedMs: number }[]> {
  const copies = [];
  for (const folder of (await undefinedIfMissing(readdir(objects))) ?? []) {
    for (const name of (await undefinedIfMissing(readdir(join(objects, folder)))) ?? []) {
      if (!/^[0-9a-f]{64}(\.jsonl|\.json|\.txt|)$/.test(name)) continue;
      const path = join(objects, folder, name);
      const stats = await undefinedIfMissing(lstat(path));
      const size = await measureOnDisk(path);
      if (stats !== undefined && size !== undefined)
        copies.push({ path, bytes: size.bytes, usedMs: stats.mtimeMs });
    }
  }
  return copies;
}
