/**
 * Step checkpoints of a job in the bucket, so that another host continues from the last step that was sent. Below no
 * shared folder there is nothing to do: hosts that share a disk have the files themselves.
 */
import { link, lstat, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { atomicRemove, makeFolder, temporaryName } from '../store/atomic-write.ts';
import type { Bucket } from '../store/bucket.ts';
import type { OnTransferred } from '../store/bucket-transfers.ts';
import { sha256 } from '../store/canonical-json.ts';
import { undefinedIfMissing, withDiskErrors } from '../store/errors.ts';
import type { OnDamage } from '../store/errors.ts';
import { readPlainFile, requirePlainFolder } from '../store/plain-files.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { parseWorkName } from '../store/work-folder.ts';

/** As on a disk: the newest, and the one before in case the newest is damaged. */
const MAX_CHECKPOINTS = 2;
const MANIFEST = 'manifest.json';

/** The trainer compares every file with the hash that its manifest has (checkpoints.py). */
const manifestSchema = z.object({
  files: z.record(z.string().regex(/^\w[\w.-]{0,99}$/), z.string().regex(/^[0-9a-f]{64}$/)),
});

/** A checkpoint in the bucket: its key ends with `step-<n>-<first 12 digits of its manifest's hash>`. */
interface SentCheckpoint {
  step: number;
  manifestHash: string;
  key: string;
}

/**
 * Where hosts share a bucket, removes what this disk still has of a job's predecessors, those of its phase in earlier
 * epochs: another host has finished them. On a disk of its own whoever finishes work removes it.
 * @param workFolder of the job, `<epoch>-<phase>-<hash>`
 */
export async function removeEarlierJobs(workFolder: string, onDamage: OnDamage): Promise<void> {
  const [folder, own] = [dirname(workFolder), parseWorkName(basename(workFolder))];
  if (sharedPlace(workFolder) === undefined || own === undefined) return;
  for (const name of await readdir(folder)) {
    const earlier = parseWorkName(name);
    if (earlier?.phase === own.phase && earlier.epoch < own.epoch)
      await atomicRemove(join(folder, name)).catch((error: unknown) =>
        onDamage({
          file: join(folder, name),
          problem: `no longer needed, but not removed: ${String(error)}`,
        }),
      );
  }
}

export class SharedCheckpoints {
  readonly #folder: string;
  readonly #linked: string;
  readonly #onDamage: OnDamage;
  /** Steps that this process has sent to the bucket, or fetched from it. */
  readonly #sharedSteps = new Set<number>();
  #sending: Promise<void> | undefined;

  /** @param workFolder of the job */
  constructor(workFolder: string, onDamage: OnDamage) {
    this.#folder = join(workFolder, 'checkpoints');
    this.#linked = temporaryName(workFolder);
    this.#onDamage = onDamage;
  }

  /**
   * Begins to send the newest checkpoint of this disk, unless one is being sent. A bucket that is away does not
   * disturb the job: the next checkpoint is sent when it is back.
   */
  startSending(signal: AbortSignal): void {
    this.#sending ??= this.send({ signal })
      .catch((error: unknown) => {
        if (!signal.aborted)
          this.#onDamage({ file: this.#folder, problem: `not in the bucket: ${String(error)}` });
      })
      .finally(() => (this.#sending = undefined));
  }

  /** Waits for what `startSending` began. It never fails. */
  async settle(): Promise<void> {
    await this.#sending;
  }

  /**
   * Sends the newest complete checkpoint of this disk, its manifest last, and removes those that it outdates.
   * @throws StoreUnavailable, the signal's reason
   */
  async send({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const place = sharedPlace(this.#folder);
    const step = (await this.#stepsOnDisk())[0];
    if (place === undefined || step === undefined || this.#sharedSteps.has(step)) return;
    const folder = join(this.#folder, nameOf(step));
    const text = await undefinedIfMissing(readPlainFile(join(folder, MANIFEST)));
    const manifest = text && parseManifest(text.toString('utf8'));
    if (!manifest) return;
    const names = [...Object.keys(manifest.files), MANIFEST];
    const key = `${place.key}/${nameOf(step)}-${sha256(text).slice(0, 12)}`;
    try {
      // The trainer removes a checkpoint when it has two newer ones: second names keep its files meanwhile.
      await makeFolder(this.#linked);
      for (const name of names) await link(join(folder, name), join(this.#linked, name));
      for (const name of names)
        await place.bucket.upload(`${key}/${name}`, join(this.#linked, name), { ...(signal && { signal }) });
    } finally {
      await rm(this.#linked, { recursive: true, force: true });
    }
    this.#sharedSteps.add(step);
    for (const { key: old } of (await listSent(place)).slice(MAX_CHECKPOINTS))
      await removeSent(place.bucket, old);
  }

  /**
   * Puts the newest checkpoint of the bucket on this disk, if this disk has none as new: a job that starts here then
   * continues from it. One that is not whole is reported and passed over.
   * @throws StoreUnavailable
   */
  async fetch(onTransferred?: OnTransferred): Promise<void> {
    const place = sharedPlace(this.#folder);
    if (place === undefined) return;
    const newest = (await this.#stepsOnDisk())[0] ?? 0;
    for (const sent of await listSent(place)) {
      if (sent.step <= newest) return;
      if (await this.#fetchOne(place.bucket, sent, onTransferred)) {
        this.#sharedSteps.add(sent.step);
        return;
      }
      this.#onDamage({
        file: place.bucket.address(sent.key),
        problem: 'no whole checkpoint; it is passed over',
      });
    }
  }

  async #fetchOne(
    bucket: Bucket,
    { step, manifestHash, key }: SentCheckpoint,
    onTransferred?: OnTransferred,
  ): Promise<boolean> {
    const text = (await bucket.read(`${key}/${MANIFEST}`))?.toString('utf8');
    const manifest = text && parseManifest(text);
    if (!manifest || !sha256(text).startsWith(manifestHash)) return false;
    const sizes = new Map((await bucket.list(`${key}/`)).map((entry) => [entry.key, entry.bytes]));
    await makeFolder(this.#folder);
    const staged = temporaryName(this.#folder);
    try {
      await makeFolder(staged);
      for (const name of [...Object.keys(manifest.files), MANIFEST]) {
        const bytes = sizes.get(`${key}/${name}`);
        if (bytes === undefined) return false;
        if (!(await bucket.download(`${key}/${name}`, join(staged, name), bytes + 1, onTransferred)))
          return false;
      }
      await withDiskErrors(this.#folder, () => rename(staged, join(this.#folder, nameOf(step))));
      return true;
    } finally {
      await rm(staged, { recursive: true, force: true });
    }
  }

  /** Steps of the checkpoints on this disk, newest first. @throws InvalidArtifact for a link */
  async #stepsOnDisk(): Promise<number[]> {
    if ((await undefinedIfMissing(lstat(this.#folder))) === undefined) return [];
    await requirePlainFolder(this.#folder);
    const steps = (await readdir(this.#folder)).flatMap((name) => /^step-(\d{6,9})$/.exec(name)?.[1] ?? []);
    return steps.map(Number).sort((a, b) => b - a);
  }
}

const nameOf = (step: number): string => `step-${String(step).padStart(6, '0')}`;

function parseManifest(text: string): z.infer<typeof manifestSchema> | undefined {
  try {
    return manifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

type Place = { bucket: Bucket; key: string };

/** Checkpoints whose manifest is in the bucket, newest first. */
async function listSent({ bucket, key: parent }: Place): Promise<SentCheckpoint[]> {
  const sent = (await bucket.list(`${parent}/step-`)).flatMap(({ key }): SentCheckpoint[] => {
    const [, name, step, manifestHash] =
      /^(step-(\d{6,9})-([0-9a-f]{12}))\/manifest\.json$/.exec(key.slice(parent.length + 1)) ?? [];
    return name === undefined
      ? []
      : [{ step: Number(step), manifestHash: manifestHash!, key: `${parent}/${name}` }];
  });
  return sent.sort((a, b) => b.step - a.step || (a.key < b.key ? -1 : 1));
}

/** Its manifest first: what is left of one that was half removed is no checkpoint. */
async function removeSent(bucket: Bucket, key: string): Promise<void> {
  await bucket.remove(`${key}/${MANIFEST}`);
  for (const entry of await bucket.list(`${key}/`)) await bucket.remove(entry.key);
}
