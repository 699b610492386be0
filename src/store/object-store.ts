import { createHash } from 'node:crypto';
import { readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { FileRef, FolderRef, isFolderRef } from '../contracts/refs.ts';
import type { Ref } from '../contracts/refs.ts';
import { atomicRemove, atomicWrite, makeFolder, StagedFile, syncFolder, temporaryName } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { errorCode, ifExists, InvalidArtifact, onDisk } from './errors.ts';
import type { OnDamage } from './errors.ts';
import { checkFolder, readManifest, takeFolder } from './folder-objects.ts';
import { countLines, fileFacts, linesOf, streamLines } from './read-bytes.ts';
import { refsIn } from './refs-in.ts';

/** Below this a file is read whole, so that it is hashed and parsed from the same bytes. */
const wholeFileBytes = 64 << 20;
const chunkChars = 1 << 20;

/**
 * Content-addressed files and folders. What is put twice is stored once; what is read is checked against its hash
 * first. Every put is durable when it returns, and every method throws StoreUnavailable where the disk refuses.
 */
export class ObjectStore {
  readonly root: string;
  readonly #onDamage: OnDamage;

  constructor(root: string, { onDamage = () => undefined }: { onDamage?: OnDamage } = {}) {
    this.root = resolve(root);
    this.#onDamage = onDamage;
  }

  /** Stores records as JSON Lines, in the order they come, in flat memory. @throws NotSerializable */
  async putRecords(records: Iterable<object> | AsyncIterable<object>): Promise<FileRef> {
    const staged = await StagedFile.open(join(this.root, 'objects'));
    try {
      const digest = createHash('sha256');
      let [bytes, count, pending] = [0, 0, ''];
      const flush = async () => {
        const chunk = Buffer.from(pending);
        digest.update(chunk);
        bytes += chunk.length;
        pending = '';
        await staged.write(chunk);
      };
      for await (const record of records) {
        pending += `${canonicalJson(record)}\n`;
        count += 1;
        if (pending.length > chunkChars) await flush();
      }
      await flush();
      const ref = fileRef(digest.digest('hex'), '.jsonl', bytes, count);
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
   * Stores a folder as it is. With `move` its files become the store's: hard links on the same file system, so nothing
   * is copied; the caller writes them no more, and removes the folder once the reference is recorded. It is left there
   * until then, so that a process killed in between has lost nothing.
   * @throws InvalidArtifact if the folder is empty
   */
  async putFolder(folder: string, { move = false }: { move?: boolean } = {}): Promise<FolderRef> {
    const staged = temporaryName(join(this.root, 'objects'));
    try {
      return await onDisk(this.root, async () => {
        await makeFolder(staged);
        const manifest = await takeFolder(folder, staged, move);
        if (manifest.length === 0) throw new InvalidArtifact(folder, 'the folder is empty', {}, 'Look into the log of the job that should have filled it.');
        const text = canonicalJson(manifest);
        const hash = sha256(text);
        const bytes = manifest.reduce((sum, file) => sum + file.bytes, 0);
        const ref: FolderRef = { uri: `${objectUri(hash)}/`, sha256: hash, bytes, count: manifest.length };
        await this.#keep(ref, async () => {
          await atomicWrite(this.#manifestPath(ref), text);
          await this.#nameFolder(staged, this.path(ref));
        });
        await rm(this.tombstonePath(ref), { force: true });
        return ref;
      });
    } finally {
      await rm(staged, { recursive: true, force: true });
    }
  }

  /** The records of a file, none of them before the whole file is checked. @throws InvalidArtifact */
  async *records<T>(ref: FileRef): AsyncGenerator<T> {
    if (ref.bytes < wholeFileBytes) {
      for (const line of linesOf(await this.#readChecked(ref))) yield JSON.parse(line) as T;
      return;
    }
    await this.check(ref);
    for await (const line of streamLines(this.path(ref))) yield JSON.parse(line) as T;
  }

  /** @throws InvalidArtifact */
  async json<T>(ref: FileRef): Promise<T> {
    return JSON.parse((await this.#readChecked(ref)).toString('utf8')) as T;
  }

  /** @throws InvalidArtifact */
  async text(ref: FileRef): Promise<string> {
    return (await this.#readChecked(ref)).toString('utf8');
  }

  /** Where the object is, absolute; says nothing of whether it is there. @throws ZodError for a malformed reference */
  path(ref: Ref): string {
    return join(this.root, (isFolderRef(ref) ? FolderRef : FileRef).parse(ref).uri.replace(/\/$/, ''));
  }

  /** Where retention notes that it has pruned the object. */
  tombstonePath(ref: Ref): string {
    return join(this.root, `${objectUri(ref.sha256)}.pruned.json`);
  }

  /** Reads the object and compares every byte with the reference. @throws InvalidArtifact naming the file */
  async check(ref: Ref): Promise<void> {
    const path = this.path(ref);
    await onDisk(path, async () => {
      const found = await ifExists(stat(path));
      if (found === undefined) throw new InvalidArtifact(path, await this.#absence(ref), { expected: ref.sha256 });
      if (!isFolderRef(ref)) {
        agree(path, ref, await fileFacts(path));
        return;
      }
      const manifest = await readManifest(this.#manifestPath(ref), ref.sha256);
      await checkFolder(path, manifest);
      const bytes = manifest.reduce((sum, file) => sum + file.bytes, 0);
      if (bytes !== ref.bytes || manifest.length !== ref.count) throw new InvalidArtifact(path, `the reference says ${ref.count} files of ${ref.bytes} bytes, the manifest ${manifest.length} of ${bytes}`);
    });
  }

  /** Checks every reference found anywhere in a value. @throws InvalidArtifact for the first that is not whole */
  async checkAll(value: unknown): Promise<void> {
    for (const { ref } of refsIn(value)) await this.check(ref);
  }

  /** True if something of that name and, for files, that size is there; `check` says whether it is whole. */
  async has(ref: Ref): Promise<boolean> {
    const found = await onDisk(this.root, () => ifExists(stat(this.path(ref))));
    return found !== undefined && (isFolderRef(ref) || found.size === ref.bytes);
  }

  async #putWhole(data: Buffer, suffix: string): Promise<FileRef> {
    const ref = fileRef(sha256(data), suffix, data.length, 1);
    await this.#keep(ref, () => atomicWrite(this.path(ref), data));
    return ref;
  }

  /** Leaves a whole object as it is, and writes one that is missing or damaged. */
  async #keep(ref: Ref, write: () => Promise<void>): Promise<void> {
    const path = this.path(ref);
    try {
      await this.check(ref);
      // Retention removes nothing that was put a short time ago, and this object was put again now.
      await ifExists(utimes(path, new Date(), new Date()));
    } catch (error) {
      if (!(error instanceof InvalidArtifact)) throw error;
      if ((await ifExists(stat(path))) !== undefined) {
        this.#onDamage({ file: error.file, problem: error.problem });
        if (isFolderRef(ref)) await atomicRemove(path);
      }
      await write();
    }
  }

  async #readChecked(ref: FileRef): Promise<Buffer> {
    const path = this.path(ref);
    const data = await onDisk(path, () => ifExists(readFile(path)));
    if (data === undefined) throw new InvalidArtifact(path, await this.#absence(ref), { expected: ref.sha256 });
    agree(path, ref, { sha256: sha256(data), bytes: data.length, lines: countLines(data) });
    return data;
  }

  async #nameFolder(staged: string, path: string): Promise<void> {
    try {
      await rename(staged, path);
      await syncFolder(dirname(path));
    } catch (error) {
      // Another process has put the same folder in the meantime.
      if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
    }
  }

  async #absence(ref: Ref): Promise<string> {
    return (await ifExists(stat(this.tombstonePath(ref)))) === undefined ? 'missing' : 'pruned by `genenv gc`';
  }

  #manifestPath(ref: FolderRef): string {
    return join(this.root, `${objectUri(ref.sha256)}.manifest.json`);
  }
}

const objectUri = (hash: string): string => `objects/${hash.slice(0, 2)}/${hash}`;
const fileRef = (hash: string, suffix: string, bytes: number, count: number): FileRef => ({ uri: objectUri(hash) + suffix, sha256: hash, bytes, count });

function agree(path: string, ref: FileRef, found: { sha256: string; bytes: number; lines: number }): void {
  if (found.sha256 !== ref.sha256 || found.bytes !== ref.bytes) throw new InvalidArtifact(path, 'altered or torn', { expected: ref.sha256, found: found.sha256 });
  const count = ref.uri.endsWith('.jsonl') ? found.lines : 1;
  if (count !== ref.count) throw new InvalidArtifact(path, `the reference says ${ref.count} records, the file has ${count}`);
}
