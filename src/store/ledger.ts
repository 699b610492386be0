import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Mutex } from 'async-mutex';
import type { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { makeFolder, syncFolder } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidArtifact, LedgerConflict, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { problemOf } from './json-files.ts';
import { forgetEnd, LedgerHead, readChain, recallEnd, rememberEnd } from './ledger-chain.ts';
import type { Head, LedgerBody, LedgerChain, LedgerEnd, LedgerLine } from './ledger-chain.ts';
import { zeroPad } from './phase-cache.ts';
import { MAX_LINES_BYTES, openPlainFile, readPlainFile } from './plain-files.ts';
import { sharedPlace } from './shared-folders.ts';
import { createLine, fetchLinesAgain, refreshLines } from './shared-lines.ts';

/** Hashes of lines that have passed a schema, so that each commit checks its own line alone. */
const readLines = new WeakMap<z.ZodType, Set<string>>();
const MAX_READ_LINES = 100_000;

/**
 * What each epoch of an experiment produced: canonical JSON lines, each with the hash of the one before, the
 * first with the anchor, the hash of the experiment file. Reading changes nothing; only `append` cuts a torn
 * last line.
 */
export class Ledger<Body extends { epoch: number } = LedgerBody> {
  readonly file: string;
  readonly anchor: string;
  /** Epoch of the first line: 0, but for forks. */
  readonly first: number;
  readonly #head: LedgerHead;
  readonly #schema: z.ZodType | undefined;
  readonly #mutex = new Mutex();

  /** @param schema of the lines that are read; without one, their chain of hashes alone is checked */
  constructor(file: string, anchor: string, first = 0, schema?: z.ZodType) {
    this.file = resolve(file);
    this.anchor = anchor;
    this.first = first;
    this.#schema = schema;
    this.#head = new LedgerHead(this.file);
  }

  /** Its lines are objects of a bucket, which no later one covers either: it has no note of its head. */
  get #isShared(): boolean {
    return sharedPlace(this.file) !== undefined;
  }

  /**
   * All lines, the whole chain verified; none if there is no file. @throws InvalidArtifact naming file and
   * line
   */
  async read(): Promise<LedgerLine<Body>[]> {
    return (await this.#verified()).lines;
  }

  /** The last line and the hash of its bytes; undefined before the first. @throws InvalidArtifact */
  async head(): Promise<{ line: LedgerLine<Body>; sha256: string } | undefined> {
    const { lines, head } = await this.#verified();
    const line = lines.at(-1);
    return line && { line, sha256: head };
  }

  /** The valid part of the chain and the problem after it; for `verify`, which continues from there. */
  async inspect(): Promise<{ chain: LedgerChain<LedgerLine<Body>>; problem: InvalidArtifact | undefined }> {
    const { chain, problem } = await this.#inspect();
    return { chain, problem };
  }

  /** The same of a ledger in a bucket, whose lines decide; a copy of them that is damaged is fetched again. */
  async #inspectShared() {
    await refreshLines(this.file);
    const first = await this.#inspectCopy(undefined);
    if (first.problem === undefined) return first;
    await fetchLinesAgain(this.file);
    return this.#inspectCopy(undefined);
  }

  async #inspect() {
    if (this.#isShared) return this.#inspectShared();
    // Before the lines: if another process adds a line in between, the lines are ahead of the head, never
    // behind.
    const head = await this.#head.read().catch((error: unknown) => {
      if (error instanceof InvalidArtifact) return error;
      throw error;
    });
    return this.#inspectCopy(head);
  }

  async #inspectCopy(head: Head | InvalidArtifact | undefined) {
    const data =
      (await withDiskErrors(this.file, () =>
        undefinedIfMissing(readPlainFile(this.file, MAX_LINES_BYTES)),
      )) ?? Buffer.alloc(0);
    const chain = readChain<LedgerLine<Body>>(data, this, this.file);
    const headProblem =
      head instanceof InvalidArtifact
        ? damagedHead(head, chain.lines.length)
        : this.#head.findProblem(head, this, data.length, chain);
    const problem = chain.problem ?? headProblem;
    if (problem !== undefined) forgetEnd(this.file);
    return { chain, problem, size: data.length };
  }

  /**
   * Adds an epoch's line, durably. The same epoch with the same content returns the existing line. The whole
   * chain is verified, unless this process wrote the last line and the file is unchanged since: then only its
   * end is.
   * @param assertCurrent called right before the write, with the hash that the line follows, such as a
   * fencing token's check: an error stops the append
   * @throws LedgerConflict for an epoch that is there with different content, InvalidArtifact if lines before
   * it are gone, InvalidConfig for an epoch out of order, NotSerializable, StoreUnavailable, and what
   * `assertCurrent` throws
   */
  append(
    body: Body,
    assertCurrent: (previous: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<LedgerLine<Body>> {
    return this.#mutex.runExclusive(async () => {
      for (;;) {
        const end = (await this.#recalledEnd(body.epoch)) ?? (await this.#verifiedEnd(body));
        if ('line' in end) return end.line;
        const text = canonicalJson({ ...body, previous: end.head });
        this.#requireNext(body.epoch, end.epoch);
        await assertCurrent(end.head);
        const head = sha256(text);
        if (this.#isShared) {
          // Another host was first: verify its line.
          if (!(await createLine(this.file, zeroPad(body.epoch, 6), text))) continue;
          await refreshLines(this.file);
          return JSON.parse(text) as LedgerLine<Body>;
        }
        const written = await this.#write(end, Buffer.from(`${text}\n`));
        // Another process has written since: verify its line first.
        if (written === undefined) continue;
        rememberEnd(this.file, { ...written, anchor: this.anchor, epoch: body.epoch, head }, written.stats);
        await this.#head.write(body.epoch, head);
        return JSON.parse(text) as LedgerLine<Body>;
      }
    });
  }

  /**
   * The end that this process has verified, if line and head still agree and the epoch is new: a repeated
   * epoch needs the lines.
   */
  async #recalledEnd(epoch: number): Promise<LedgerEnd | undefined> {
    if (this.#isShared) return undefined;
    const end = await recallEnd(this.file, this.anchor);
    if (end?.epoch === undefined || epoch <= end.epoch) return undefined;
    return (await this.#head.read())?.sha256 === end.head ? end : undefined;
  }

  /** Verifies the whole chain: its end, or the epoch's line if it is there. */
  async #verifiedEnd(body: Body): Promise<LedgerEnd | { line: LedgerLine<Body> }> {
    const { chain, problem, size } = await this.#inspect();
    if (problem !== undefined) throw problem;
    const index = chain.lines.findIndex((line) => line.epoch === body.epoch);
    const text = canonicalJson({ ...body, previous: chain.lines[index]?.previous ?? chain.head });
    const committed =
      chain.hashes[index] ?? (this.#isShared ? undefined : await this.#head.hashOfEpoch(body.epoch));
    if (committed !== undefined && committed !== sha256(text)) {
      throw new LedgerConflict(
        `Epoch ${body.epoch} is in ${this.file} already, with other content (its line is ${committed}, ` +
          `not ${sha256(text)}). A committed epoch never changes: fork the experiment to continue differently.`,
      );
    }
    if (index === -1)
      return { epoch: chain.lines.at(-1)?.epoch, head: chain.head, length: chain.length, size };
    if (index === chain.lines.length - 1 && !this.#isShared) await this.#head.write(body.epoch, sha256(text));
    return { line: JSON.parse(text) as LedgerLine<Body> };
  }

  #requireNext(epoch: number, last: number | undefined): void {
    const next = last === undefined ? this.first : last + 1;
    if (epoch === next) return;
    if (Number.isSafeInteger(epoch) && epoch > next)
      throw new InvalidArtifact(this.file, `the lines of epochs ${next} to ${epoch - 1} are gone`);
    throw new InvalidConfig(
      `Epoch ${epoch} cannot follow ${last === undefined ? 'the start' : `epoch ${last}`} in ` +
        `${this.file}: commit the epochs in order.`,
    );
  }

  async #verified(): Promise<LedgerChain<LedgerLine<Body>>> {
    const { chain, problem } = await this.inspect();
    if (problem !== undefined) throw problem;
    this.requireLines(chain);
    return chain;
  }

  /** Checks lines by the ledger's schema. @throws InvalidArtifact naming line and field */
  requireLines({ lines, hashes }: Pick<LedgerChain<LedgerLine<Body>>, 'lines' | 'hashes'>): void {
    if (this.#schema === undefined) return;
    const passed = readLines.get(this.#schema) ?? new Set();
    readLines.set(this.#schema, passed);
    for (const [index, line] of lines.entries()) {
      const hash = hashes[index]!;
      if (passed.has(hash)) continue;
      const problem = problemOf(line, this.#schema);
      if (problem !== undefined)
        throw new InvalidArtifact(
          this.file,
          `line ${index + 1}: ${problem}`,
          {},
          'Restore the file from a copy, or read it with the version that wrote it.',
        );
      if (passed.size >= MAX_READ_LINES) passed.clear();
      passed.add(hash);
    }
  }

  /**
   * Writes at a position, not at the end, so that two attempts with the same line leave one; a torn line
   * after it is cut. What others have written after this line meanwhile is not: a host may stand still in here for
   * hours, while another one commits epoch after epoch.
   * @returns undefined if the file no longer has the verified size: its lines have to be verified again
   */
  async #write(
    { length, size }: LedgerEnd,
    line: Buffer,
  ): Promise<{ length: number; size: number; lastLine: number; stats: BigIntStats } | undefined> {
    await makeFolder(dirname(this.file));
    return withDiskErrors(this.file, async () => {
      const handle = await openPlainFile(this.file, constants.O_RDWR | constants.O_CREAT);
      try {
        if ((await handle.stat()).size !== size) return undefined;
        if (size > length) await handle.truncate(length);
        await writeAt(handle, line, length);
        await syncFolder(dirname(this.file));
        const end = length + line.length;
        const stats = await handle.stat({ bigint: true });
        if (stats.size > BigInt(end)) return undefined;
        return { length: end, size: end, lastLine: line.length, stats };
      } finally {
        await handle.close();
      }
    });
  }
}

/** A damaged head, whose ledger has this many lines: nothing vouches for the last of them. */
const damagedHead = ({ file, problem }: InvalidArtifact, lines: number): InvalidArtifact =>
  new InvalidArtifact(
    file,
    problem,
    { line: Math.max(0, lines - 1) },
    'Start the run again: it continues from the line before.',
  );

/** Writes a line whole or not at all: a full disk would take half a line. */
async function writeAt(handle: FileHandle, line: Buffer, position: number): Promise<void> {
  try {
    for (let done = 0; done < line.length;) {
      done += (await handle.write(line, done, line.length - done, position + done)).bytesWritten;
    }
    await handle.sync();
  } catch (error) {
    const { size } = await handle.stat().catch(() => ({ size: Infinity }));
    // More than this line is of another process.
    if (size <= position + line.length) await handle.truncate(position).catch(() => undefined);
    throw error;
  }
}
