import { Mutex } from 'async-mutex';
import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { makeFolder, syncFolder } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidArtifact, LedgerConflict, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { forgetEnd, knownEnd, LedgerHead, readChain, rememberEnd } from './ledger-chain.ts';
import type { LedgerBody, LedgerChain, LedgerEnd, LedgerLine } from './ledger-chain.ts';

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
  readonly #mutex = new Mutex();

  constructor(file: string, anchor: string, first = 0) {
    this.file = resolve(file);
    this.anchor = anchor;
    this.first = first;
    this.#head = new LedgerHead(this.file);
  }

  /**
   * All lines, the whole chain verified; none where there is no file. @throws InvalidArtifact naming file and
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

  /** The chain as far as it holds, and what is wrong after that; for `verify`, which goes on from there. */
  async inspect(): Promise<{ chain: LedgerChain<LedgerLine<Body>>; problem: InvalidArtifact | undefined }> {
    const { chain, problem } = await this.#inspect();
    return { chain, problem };
  }

  async #inspect() {
    // Before the lines: a line that another process adds in between may be ahead of the note, never behind
    // it.
    const head = await this.#head.read().catch((error: unknown) => {
      if (error instanceof InvalidArtifact) return error;
      throw error;
    });
    const data =
      (await withDiskErrors(this.file, () => undefinedIfMissing(readFile(this.file)))) ?? Buffer.alloc(0);
    const chain = readChain<LedgerLine<Body>>(data, this, this.file);
    // Without the note nothing vouches for the last line.
    const objection =
      head instanceof InvalidArtifact
        ? new InvalidArtifact(
            head.file,
            head.problem,
            { line: Math.max(0, chain.lines.length - 1) },
            'Start the run again: it goes on from the line before.',
          )
        : this.#head.objection(head, this, data.length, chain);
    const problem = chain.problem ?? objection;
    if (problem !== undefined) forgetEnd(this.file);
    return { chain, problem, size: data.length };
  }

  /**
   * Adds an epoch's line, durably. The same epoch with the same content gives the line that is there. The
   * whole chain is verified, unless this process wrote the last line and nobody has touched the file since:
   * then only its end is.
   * @param assertCurrent called right before the write, such as a claim's: what it throws stops the append
   * @throws LedgerConflict for an epoch that is there with other content, InvalidArtifact where lines before
   * it are gone, InvalidConfig for one that no line could be before, NotSerializable, StoreUnavailable, and
   * what `assertCurrent` throws
   */
  append(
    body: Body,
    assertCurrent: () => Promise<void> = () => Promise.resolve(),
  ): Promise<LedgerLine<Body>> {
    return this.#mutex.runExclusive(async () => {
      for (;;) {
        const end = (await this.#knownEnd(body.epoch)) ?? (await this.#verifiedEnd(body));
        if ('line' in end) return end.line;
        const text = canonicalJson({ ...body, previous: end.head });
        this.#follow(body.epoch, end.epoch);
        await assertCurrent();
        const head = sha256(text);
        const written = await this.#write(end, Buffer.from(`${text}\n`));
        // Another process has written since: what it wrote is looked at first.
        if (written === undefined) continue;
        rememberEnd(this.file, { ...written, anchor: this.anchor, epoch: body.epoch, head }, written.stats);
        await this.#head.write(body.epoch, head);
        return JSON.parse(text) as LedgerLine<Body>;
      }
    });
  }

  /**
   * The end that this process has verified, where line and note still agree and the epoch is a new one: a
   * repeated one needs the lines.
   */
  async #knownEnd(epoch: number): Promise<LedgerEnd | undefined> {
    const end = await knownEnd(this.file, this.anchor);
    return end?.epoch !== undefined && epoch > end.epoch && (await this.#head.read())?.sha256 === end.head
      ? end
      : undefined;
  }

  /** Verifies the whole chain: its end, or the epoch's line if it is there. */
  async #verifiedEnd(body: Body): Promise<LedgerEnd | { line: LedgerLine<Body> }> {
    const { chain, problem, size } = await this.#inspect();
    if (problem !== undefined) throw problem;
    const at = chain.lines.findIndex((line) => line.epoch === body.epoch);
    const text = canonicalJson({ ...body, previous: chain.lines[at]?.previous ?? chain.head });
    const known = chain.hashes[at] ?? (await this.#head.hashOfEpoch(body.epoch));
    if (known !== undefined && known !== sha256(text)) {
      throw new LedgerConflict(
        `Epoch ${body.epoch} is in ${this.file} already, with other content (its line is ${known}, not ${sha256(text)}). A committed epoch never changes: fork the experiment to go on otherwise.`,
      );
    }
    if (at === -1) return { epoch: chain.lines.at(-1)?.epoch, head: chain.head, length: chain.length, size };
    if (at === chain.lines.length - 1) await this.#head.write(body.epoch, sha256(text));
    return { line: JSON.parse(text) as LedgerLine<Body> };
  }

  #follow(epoch: number, last: number | undefined): void {
    const next = last === undefined ? this.first : last + 1;
    if (epoch === next) return;
    if (Number.isSafeInteger(epoch) && epoch > next)
      throw new InvalidArtifact(this.file, `the lines of epochs ${next} to ${epoch - 1} are gone`);
    throw new InvalidConfig(
      `Epoch ${epoch} cannot follow ${last === undefined ? 'the start' : `epoch ${last}`} in ${this.file}: commit the epochs in order.`,
    );
  }

  async #verified(): Promise<LedgerChain<LedgerLine<Body>>> {
    const { chain, problem } = await this.inspect();
    if (problem !== undefined) throw problem;
    return chain;
  }

  /**
   * At a position, not at the end: two attempts that write the same line leave one. What lies after it is a
   * torn line.
   * @returns undefined, with nothing written, where the file is no longer of the size that was verified
   */
  async #write(
    { length, size }: LedgerEnd,
    line: Buffer,
  ): Promise<{ length: number; size: number; lastLine: number; stats: BigIntStats } | undefined> {
    await makeFolder(dirname(this.file));
    return withDiskErrors(this.file, async () => {
      const handle = await open(this.file, constants.O_RDWR | constants.O_CREAT);
      try {
        if ((await handle.stat()).size !== size) return undefined;
        await handle.truncate(length);
        await writeAt(handle, line, length);
        await syncFolder(dirname(this.file));
        const whole = length + line.length;
        return {
          length: whole,
          size: whole,
          lastLine: line.length,
          stats: await handle.stat({ bigint: true }),
        };
      } finally {
        await handle.close();
      }
    });
  }
}

/** A line whole and on disk, or none of it: a full disk would take half a line. */
async function writeAt(handle: FileHandle, line: Buffer, position: number): Promise<void> {
  try {
    for (let done = 0; done < line.length;) {
      done += (await handle.write(line, done, line.length - done, position + done)).bytesWritten;
    }
    await handle.sync();
  } catch (error) {
    await handle.truncate(position).catch(() => undefined);
    throw error;
  }
}
