import { createHash } from 'node:crypto';
import { lstat, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from '../numerics/arithmetic.ts';
import { atomicRemove, atomicWrite, makeFolder, StagedFile, temporaryName } from './atomic-write.ts';
import type { OnTransferred } from './bucket-transfers.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import type { OnDamage } from './errors.ts';
import { checkObject, copyFolder, linesOf, readChecked, streamLines } from './object-integrity.ts';
import type { OnHashed } from './object-integrity.ts';
import { manifestPath, objectPath, tombstonePath } from './object-paths.ts';
import { followNoLinksBelow } from './real-place.ts';
import { fileRef, folderRef, isFolderRef, refsIn } from './references.ts';
import type { FileRef, FolderRef, Ref } from './references.ts';
import { readObject } from './object-copies.ts';
import { fetchObject, nameFolder, publishObject } from './shared-objects.ts';

/** Smaller files are read whole, so that the parsed bytes are the hashed ones. */
const WHOLE_FILE_BYTES = 1 << 18;

/**
 * Content-addressed files and folders. Equal content is stored once; every read is checked against its hash
 * first. Every put is durable when it returns, and every method throws StoreUnavailable if the disk refuses.
 * If the folder is shared, a put is in its bucket when it returns, and a read fetches what this disk lacks.
 */
export class ObjectStore {
  readonly root: string;
  readonly #onDamage: OnDamage;
  readonly #onHashed: OnHashed;
  readonly #onTransferred: OnTransferred;

  constructor(
    root: string,
    {
      onDamage = () => undefined,
      onHashed = () => undefined,
      onTransferred = () => undefined,
    }: { onDamage?: OnDamage; onHashed?: OnHashed; onTransferred?: OnTransferred } = {},
  ) {
    this.root = followNoLinksBelow(root);
    this.#onDamage = onDamage;
    this.#onHashed = onHashed;
    this.#onTransferred = onTransferred;
  }

  /** Stores records as JSON Lines, in the order they come, in flat memory. @throws NotSerializable */
  async putRecords(records: Iterable<object> | AsyncIterable<object>): Promise<FileRef> {
    const staged = await StagedFile.open(join(this.root, 'objects'));
    try {
      const ref = await writeRecords(staged, records);
      await this.#keep(ref, () => staged.commit(this.path(ref)));
      return ref;
    } finally {
      await staged.discard();
    }
  }

  /** Stores one value as canonical JSON. @throws NotSerializable */
  async putJson(value: unknown): Promise<FileRef> {
    return this.#putWhole(Buffer.from(canonicalJson(value)), '.json');
  }

  async putText(text: string): Promise<FileRef> {
    return this.#putWhole(Buffer.from(text), '.txt');
  }

  /**
   * Stores a folder as it is. With `move` its files become the store's: hard links on the same file system,
   * so nothing is copied; the caller must not write them any more, and removes the folder once the
   * reference is recorded. It stays until then, so that a process killed in between has lost nothing.
   * @throws InvalidArtifact if the folder is empty, holds or is a link, or is not the one with the `expected`
   * hash; then nothing is stored
   */
  async putFolder(
    folder: string,
    { move = false, expected }: { move?: boolean; expected?: string } = {},
  ): Promise<FolderRef> {
    const staged = temporaryName(join(this.root, 'objects'));
    try {
      await makeFolder(staged);
      const manifest = await withDiskErrors(staged, () => copyFolder(folder, staged, move, this.#onHashed));
      if (manifest.length === 0)
        throw new InvalidArtifact(
          folder,
          'the folder is empty',
          {},
          'Look into the log of the job that should have filled it.',
        );
      const text = canonicalJson(manifest);
      if (expected !== undefined && sha256(text) !== expected)
        // Without its hash: whoever may write the folder would learn what they cannot read.
        throw new InvalidArtifact(folder, 'altered or torn');
      const bytes = sum(manifest.map((file) => file.bytes));
      const ref = folderRef(sha256(text), bytes, manifest.length);
      await this.#keep(ref, async () => {
        await atomicWrite(manifestPath(this.root, ref), text);
        await nameFolder(staged, this.path(ref));
        await rm(tombstonePath(this.root, ref), { force: true });
      });
      return ref;
    } finally {
      await rm(staged, { recursive: true, force: true });
    }
  }

  /** Stores a file of another store under its reference. @throws InvalidArtifact if its bytes are others */
  async putFile(source: string, ref: FileRef): Promise<void> {
    const staged = await StagedFile.open(join(this.root, 'objects'));
    try {
      await staged.copy(source);
      await this.#keep(ref, () => staged.commit(this.path(ref)));
    } finally {
      await staged.discard();
    }
    await this.check(ref);
  }

  /** The records of a file, after the whole file was checked. @throws InvalidArtifact */
  async *records<T>(ref: FileRef): AsyncGenerator<T> {
    if (ref.bytes < WHOLE_FILE_BYTES) {
      for (const line of linesOf(await this.#readChecked(ref))) yield JSON.parse(line) as T;
      return;
    }
    await this.check(ref);
    for await (const line of streamLines(this.path(ref))) yield JSON.parse(line) as T;
  }

  /** @throws InvalidArtifact */
  async json<T>(ref: FileRef): Promise<T> {
    return JSON.parse(await this.text(ref)) as T;
  }

  /** @throws InvalidArtifact */
  async text(ref: FileRef): Promise<string> {
    return (await this.#readChecked(ref)).toString('utf8');
  }

  /** Absolute path of an object, which may not exist. @throws InvalidArtifact for a malformed reference */
  path(ref: Ref): string {
    return objectPath(this.root, ref);
  }

  /** The same for a process that reads the object: this disk has it, if the store has. */
  async localPath(ref: Ref): Promise<string> {
    await fetchObject(this.root, ref, this.#onTransferred);
    return this.path(ref);
  }

  /** Compares every byte of the object with the reference. @throws InvalidArtifact naming the file */
  async check(ref: Ref): Promise<void> {
    await this.#withCopy(ref, () => checkObject(this.root, ref, this.#onHashed));
  }

  /** Checks every reference anywhere in a value. @throws InvalidArtifact for the first damaged object */
  async checkAll(value: unknown): Promise<void> {
    for (const { ref } of refsIn(value)) await this.check(ref);
  }

  /** Checks that each object that a value references exists, without reading it. @throws InvalidArtifact */
  async requireAll(value: unknown): Promise<void> {
    for (const { ref } of refsIn(value))
      if (!(await this.has(ref)))
        throw new InvalidArtifact(this.path(ref), 'missing, or of another size', { expected: ref.sha256 });
  }

  /** Whether an object of that name and, for files, that size exists; `check` compares its bytes. */
  async has(ref: Ref): Promise<boolean> {
    await fetchObject(this.root, ref, this.#onTransferred);
    const stats = await withDiskErrors(this.root, () => undefinedIfMissing(lstat(this.path(ref))));
    return isFolderRef(ref)
      ? stats?.isDirectory() === true
      : stats?.isFile() === true && stats.size === ref.bytes;
  }

  async #putWhole(data: Buffer, suffix: '.json' | '.txt'): Promise<FileRef> {
    const ref = fileRef(sha256(data), suffix, data.length, 1);
    await this.#keep(ref, () => atomicWrite(this.path(ref), data));
    return ref;
  }

  /** Keeps an intact object as it is, and writes one that is missing or damaged. */
  async #keep(ref: Ref, write: () => Promise<void>): Promise<void> {
    const path = this.path(ref);
    try {
      await checkObject(this.root, ref, this.#onHashed);
      // Retention spares what was put a short time ago, and this object was put again now.
      await withDiskErrors(path, () => utimes(path, new Date(), new Date()));
    } catch (error) {
      if (!(error instanceof InvalidArtifact)) throw error;
      if ((await undefinedIfMissing(stat(path))) !== undefined) {
        this.#onDamage({ file: error.file, problem: error.problem });
        if (isFolderRef(ref)) await atomicRemove(path);
      }
      await withDiskErrors(path, write);
    }
    await publishObject(this.root, ref, this.#onTransferred);
  }

  #readChecked(ref: FileRef): Promise<Buffer> {
    return this.#withCopy(ref, () => readChecked(this.root, ref));
  }

  #withCopy<T>(ref: Ref, read: () => Promise<T>): Promise<T> {
    return readObject(this.root, ref, read, {
      onDamage: this.#onDamage,
      onHashed: this.#onHashed,
      onTransferred: this.#onTransferred,
    });
  }
}

const CHUNK_CHARS = 1 << 16;

/**
 * Writes records as canonical JSON Lines, in the order they come, in flat memory. @throws NotSerializable,
 * StoreUnavailable
 */
export async function writeRecords(
  file: StagedFile,
  records: Iterable<object> | AsyncIterable<object>,
): Promise<FileRef> {
  const digest = createHash('sha256');
  let [bytes, count, pending] = [0, 0, ''];
  const flush = async () => {
    const chunk = Buffer.from(pending);
    digest.update(chunk);
    bytes += chunk.length;
    pending = '';
    await file.write(chunk);
  };
  for await (const record of records) {
    pending += `${canonicalJson(record)}\n`;
    count += 1;
    if (pending.length > CHUNK_CHARS) await flush();
  }
  await flush();
  return fileRef(digest.digest('hex'), '.jsonl', bytes, count);
}
