import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { syncFolder } from './atomic-write.ts';
import { errorCode, InvalidArtifact, Superseded, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { checkKey, zeroPad } from './phase-cache.ts';
import type { PhaseKey } from './phase-cache.ts';
import { makePlainFolder, readPlainFile, requirePlainFolder } from './plain-files.ts';
import { LINK_REMEDY, openInPlace } from './real-place.ts';
import { removeSharedPath } from './shared-files.ts';
import { sharedPlace } from './shared-folders.ts';

/**
 * The right of one attempt to write in a work folder, until another attempt claims the next number. No
 * clocks, no run ids, no attempt numbers: those start again after a reset.
 */
export type FencingToken = {
  number: number;
  isCurrent(): Promise<boolean>;
  /** @throws Superseded */
  assertCurrent(): Promise<void>;
};

/** A folder for unfinished work: a request journal, or a training job with its fence. */
export type WorkFolder = {
  path: string;
  /**
   * Claims the next number.
   * @throws StoreUnavailable, Superseded if the folder was removed because its work is finished,
   * InvalidArtifact if it holds a claim of a number that no work reaches
   */
  claim(): Promise<FencingToken>;
  /** Removes the folder and all claims on it: once the result is recorded. */
  remove(): Promise<void>;
};

/**
 * The folder for the work of a key, made if needed.
 * @throws InvalidConfig for a bad key, InvalidArtifact for a link below `root`, StoreUnavailable
 */
export async function openWork(root: string, key: PhaseKey): Promise<WorkFolder> {
  const path = workPath(root, key);
  await makePlainFolder(resolve(root), join(path, 'fence'));
  return { path, claim: () => claim(path), remove: () => removeSharedPath(path) };
}

/** Removes what finished work has left behind, here and in the bucket. @throws StoreUnavailable */
export const removeWork = (root: string, key: PhaseKey): Promise<void> =>
  removeSharedPath(workPath(root, key));

/**
 * `work/<experiment>/<epoch>-<phase>[-<shard>]-<first 12 digits of the input hash>`, absolute.
 * @throws InvalidConfig
 */
export function workPath(root: string, key: PhaseKey): string {
  const { experiment, epoch, phase, shard, inputHash } = checkKey(key);
  const parts = [
    zeroPad(epoch, 4),
    phase,
    ...(shard === undefined ? [] : [zeroPad(shard, 2)]),
    inputHash.slice(0, 12),
  ];
  return join(resolve(root), 'work', experiment, parts.join('-'));
}

/** Epoch and phase (with its shard) of a work folder by its name; undefined for another name. */
export function parseWorkName(name: string): { epoch: number; phase: string } | undefined {
  const [, epoch, phase] = /^(\d{4,})-(.+)-[0-9a-f]{12}$/.exec(name) ?? [];
  return epoch === undefined || phase === undefined ? undefined : { epoch: Number(epoch), phase };
}

async function claim(path: string): Promise<FencingToken> {
  const fence = join(path, 'fence');
  // A folder that was removed and made again starts at 1 again; the token tells its claims from earlier ones.
  const token = randomUUID();
  const number = await withDiskErrors(fence, async () => {
    const first = Math.max(await highestClaim(fence), await highestSharedClaim(fence)) + 1;
    for (let next = first; next < MAX_CLAIM; next += 1) {
      // In the bucket first: this disk's claims are for the processes that run here.
      if (!(await claimShared(fence, next, token))) continue;
      if (await createExclusively(fence, next, token)) return next;
    }
    throw tooManyClaims(fence, MAX_CLAIM - 1);
  });
  const readToken = () => undefinedIfMissing(readPlainFile(join(fence, String(number))));
  const isNewestShared = newestSharedClaim(fence, number, token);
  const isCurrent = () =>
    withDiskErrors(
      fence,
      async () =>
        (await highestClaim(fence)) === number &&
        (await readToken())?.toString('utf8') === token &&
        (await isNewestShared()),
    );
  const assertCurrent = async () => {
    if (await isCurrent()) return;
    const newest = Math.max(await highestClaim(fence), await highestSharedClaim(fence));
    const why =
      newest > number
        ? `attempt ${newest} has claimed it since, and continues`
        : 'it was removed since, because its work is finished';
    throw new Superseded(`Attempt ${number} on ${path} may write no more: ${why}. Nothing to do.`);
  };
  return { number, isCurrent, assertCurrent };
}

/** Far above what any work claims; near 2^53 one more is no other number. */
const MAX_CLAIM = 1e9;

/** @throws InvalidArtifact for a link in the place of the folder, and for a number that no work reaches */
async function highestClaim(fence: string): Promise<number> {
  await requirePlainFolder(fence);
  const names = (await undefinedIfMissing(readdir(fence))) ?? [];
  const claims = names.filter((name) => /^\d+$/.test(name));
  const excess = claims.find((name) => Number(name) >= MAX_CLAIM);
  if (excess !== undefined) throw tooManyClaims(fence, excess);
  return claims.reduce((highest, name) => Math.max(highest, Number(name)), 0);
}

const tooManyClaims = (fence: string, claim: string | number): InvalidArtifact =>
  new InvalidArtifact(join(fence, String(claim)), 'no work has so many claims', {}, LINK_REMEDY);

/** Below no shared folder there is none. */
async function highestSharedClaim(fence: string): Promise<number> {
  const place = sharedPlace(fence);
  if (place === undefined) return 0;
  const claims = (await place.bucket.list(`${place.key}/`)).map(({ key }) =>
    Number(key.slice(place.key.length + 1)),
  );
  return claims.reduce((highest, claim) => Math.max(highest, claim || 0), 0);
}

/** Whether the bucket, if there is one, gives the claim to this attempt. */
async function claimShared(fence: string, number: number, token: string): Promise<boolean> {
  const place = sharedPlace(fence);
  return place === undefined || place.bucket.create(`${place.key}/${number}`, Buffer.from(token));
}

/** How often an attempt asks the bucket whether another host has overtaken it. */
const CLAIM_CHECK_MS = 30_000;

/**
 * A function that says whether a claim is the newest of all hosts. It is asked before each entry of a journal,
 * which is this host's own, so it asks the bucket rarely: an attempt that was overtaken does no harm meanwhile.
 */
function newestSharedClaim(fence: string, number: number, token: string): () => Promise<boolean> {
  let checkedAt = Date.now();
  return async () => {
    const place = sharedPlace(fence);
    if (place === undefined || Date.now() - checkedAt < CLAIM_CHECK_MS) return true;
    if ((await highestSharedClaim(fence)) !== number) return false;
    const claim = await place.bucket.read(`${place.key}/${number}`);
    checkedAt = Date.now();
    return claim?.toString('utf8') === token;
  };
}

async function createExclusively(fence: string, number: number, token: string): Promise<boolean> {
  try {
    await using handle = await openInPlace(join(fence, String(number)), 'wx');
    await handle.writeFile(token);
    await handle.sync();
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    if (errorCode(error) === 'ENOENT')
      throw new Superseded(`${fence} was removed, because its work is finished. Nothing to do.`);
    throw error;
  }
  await syncFolder(fence);
  return true;
}
