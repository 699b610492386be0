import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeFolder, syncFolder } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import { ifExists, LedgerConflict, onDisk } from './errors.ts';
import type { InvalidArtifact } from './errors.ts';
import { readChain } from './ledger-chain.ts';
import type { Chain, LedgerBody, LedgerLine } from './ledger-chain.ts';
import { LedgerHead } from './ledger-head.ts';
import { Serial } from './serial.ts';

export type { LedgerBody, LedgerLine } from './ledger-chain.ts';

/**
 * What each epoch of an experiment produced: canonical JSON lines, each with the hash of the one before, the first with
 * the anchor, the hash of the experiment file. Reading changes nothing; only `append` cuts a torn last line.
 */
export class Ledger<Body extends { epoch: number } = LedgerBody> {
  readonly file: string;
  readonly anchor: string;
  readonly #head: LedgerHead;
  readonly #serial = new Serial();

  constructor(file: string, anchor: string) {
    this.file = resolve(file);
    this.anchor = anchor;
    this.#head = new LedgerHead(this.file);
  }

  /** All lines, the whole chain verified; none where there is no file. @throws InvalidArtifact naming file and line */
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
  async inspect(): Promise<{ chain: Chain<LedgerLine<Body>>; problem: InvalidArtifact | undefined }> {
    const data = (await onDisk(this.file, () => ifExists(readFile(this.file)))) ?? Buffer.alloc(0);
    const chain = readChain<LedgerLine<Body>>(data, this.anchor, this.file);
    return { chain, problem: chain.problem ?? (await this.#head.objection(this.file, data.length, chain)) };
  }

  /**
   * Adds an epoch's line, durably. The same epoch with the same content gives the line that is there.
   * @param assertCurrent called right before the write, such as a claim's: what it throws stops the append
   * @throws LedgerConflict for an epoch that is there with other content, InvalidConfig for one that does not follow the
   * last, InvalidArtifact, NotSerializable, StoreUnavailable, and what `assertCurrent` throws
   */
  append(body: Body, assertCurrent: () => Promise<void> = () => Promise.resolve()): Promise<LedgerLine<Body>> {
    return this.#serial.run(async () => {
      const chain = await this.#verified();
      const at = chain.lines.findIndex((line) => line.epoch === body.epoch);
      const text = canonicalJson({ ...body, previous: chain.lines[at]?.previous ?? chain.head });
      const known = chain.hashes[at] ?? (await this.#head.hashOfEpoch(body.epoch));
      if (known !== undefined && known !== sha256(text)) {
        throw new LedgerConflict(`Epoch ${body.epoch} is in ${this.file} already, with other content (its line is ${known}, not ${sha256(text)}). A committed epoch never changes: fork the experiment to go on otherwise.`);
      }
      if (at === -1) {
        this.#follow(body.epoch, chain.lines.at(-1)?.epoch);
        await assertCurrent();
        await this.#write(chain.length, Buffer.from(`${text}\n`));
      }
      if (at === -1 || at === chain.lines.length - 1) await this.#head.write(body.epoch, sha256(text));
      return JSON.parse(text) as LedgerLine<Body>;
    });
  }

  #follow(epoch: number, last: number | undefined): void {
    if (Number.isSafeInteger(epoch) && epoch >= 0 && epoch === (last ?? epoch - 1) + 1) return;
    throw new InvalidConfig(`Epoch ${epoch} cannot follow ${last === undefined ? 'the experiment file' : `epoch ${last}`} in ${this.file}: commit the epochs in order.`);
  }

  async #verified(): Promise<Chain<LedgerLine<Body>>> {
    const { chain, problem } = await this.inspect();
    if (problem !== undefined) throw problem;
    return chain;
  }

  /** At a position, not at the end: two attempts that write the same line leave one. What lies after it is a torn line. */
  async #write(position: number, line: Buffer): Promise<void> {
    await makeFolder(dirname(this.file));
    await onDisk(this.file, async () => {
      const handle = await open(this.file, constants.O_RDWR | constants.O_CREAT);
      try {
        await handle.truncate(position);
        for (let done = 0; done < line.length; ) {
          done += (await handle.write(line, done, line.length - done, position + done)).bytesWritten;
        }
        await handle.sync();
      } finally {
        await handle.close();
      }
      await syncFolder(dirname(this.file));
    });
  }
}
