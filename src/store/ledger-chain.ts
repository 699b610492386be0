import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { atomicWrite } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { openPlainFile, readPlainFile } from './plain-files.ts';

/** What an epoch writes into the ledger, and the hash of the line before. */
export type LedgerBody = {
  epoch: number;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  metrics: Record<string, unknown>;
  settings?: Record<string, unknown>;
  notes?: unknown;
};
export type LedgerLine<Body extends { epoch: number } = LedgerBody> = Body & { previous: string };

export type LedgerChain<Line> = {
  lines: Line[];
  /** Hash of the last line's bytes, without the newline; the anchor if there is no line. */
  head: string;
  /** Hashes of all the lines' bytes. */
  hashes: string[];
  /** Bytes of the lines; a torn line may follow. */
  length: number;
  /** What is wrong with the line after `lines`. */
  problem?: InvalidArtifact;
};

type LinkedLine = { epoch: number; previous: string };

/**
 * Recomputes a ledger's chain from its bytes, up to the first invalid line. Text after the last newline is
 * not a line: the process that wrote it was killed, and the epoch is committed again.
 */
export function readChain<Line extends LinkedLine>(
  data: Buffer,
  { anchor, first }: { anchor: string; first: number },
  file: string,
): LedgerChain<Line> {
  const chain: LedgerChain<Line> = { lines: [], head: anchor, hashes: [], length: 0 };
  for (let end = data.indexOf('\n'); end !== -1; end = data.indexOf('\n', chain.length)) {
    const bytes = data.subarray(chain.length, end);
    const line = parseLine(bytes);
    const problem = lineProblem(line, chain, first, file);
    if (problem !== undefined) return { ...chain, problem };
    chain.lines.push(line as Line);
    chain.head = sha256(bytes);
    chain.hashes.push(chain.head);
    chain.length = end + 1;
  }
  return chain;
}

/** Why a line does not continue the chain before it; undefined if it does. */
function lineProblem(
  line: LinkedLine | undefined,
  { lines, head }: LedgerChain<LinkedLine>,
  first: number,
  file: string,
): InvalidArtifact | undefined {
  const name = `line ${lines.length + 1}`;
  const last = lines.at(-1);
  if (line === undefined)
    return new InvalidArtifact(file, `${name} is no ledger line in canonical JSON`, {}, REMEDY);
  if (line.previous !== head) {
    const problem =
      last === undefined
        ? `${name} does not start from this experiment file`
        : `line ${lines.length} or ${name} was altered: their hashes do not chain`;
    const hashes = { expected: head, actual: line.previous, line: Math.max(0, lines.length - 1) };
    return new InvalidArtifact(file, problem, hashes, REMEDY);
  }
  if (line.epoch === (last === undefined ? first : last.epoch + 1)) return undefined;
  const expected = last === undefined ? `, not ${first}` : ` after epoch ${last.epoch}`;
  return new InvalidArtifact(file, `${name} has epoch ${line.epoch}${expected}`, {}, REMEDY);
}

const REMEDY =
  'Restore the file from a copy, or cut it before that line: ' +
  'the epochs from there on are then committed again.';

function parseLine(bytes: Buffer): LinkedLine | undefined {
  try {
    const line = JSON.parse(bytes.toString('utf8')) as LinkedLine;
    return Number.isSafeInteger(line.epoch) &&
      typeof line.previous === 'string' &&
      Buffer.from(canonicalJson(line)).equals(bytes)
      ? line
      : undefined;
  } catch {
    return undefined;
  }
}

export type Head = { epoch: number; sha256: string };

/**
 * `ledger.head.json`, the hash of a ledger's last line, which no later line covers. It is written after its
 * line, so it can be one line behind; it is ahead only if the last line was torn.
 */
export class LedgerHead {
  readonly file: string;

  constructor(ledgerFile: string) {
    this.file = `${ledgerFile.replace(/\.jsonl$/, '')}.head.json`;
  }

  /** @throws StoreUnavailable */
  async write(epoch: number, sha256: string): Promise<void> {
    await atomicWrite(this.file, canonicalJson({ epoch, sha256 }));
  }

  /**
   * The hash of an epoch's line, if the head is of that epoch. @throws InvalidArtifact if the head is damaged
   */
  async hashOfEpoch(epoch: number): Promise<string | undefined> {
    const head = await this.read();
    return head?.epoch === epoch ? head.sha256 : undefined;
  }

  /**
   * Compares the head, read before the ledger, with a chain read from a ledger of `size` bytes; undefined if
   * they agree.
   */
  findProblem(
    head: Head | undefined,
    { file, first }: { file: string; first: number },
    size: number,
    { lines, hashes, length }: LedgerChain<{ epoch: number }>,
  ): InvalidArtifact | undefined {
    if (head === undefined) return undefined;
    const remedy = `Restore it from a copy. To accept it as it is, remove ${this.file}.`;
    const index = lines.findIndex((line) => line.epoch === head.epoch);
    const actual = hashes[index];
    if (actual !== undefined) {
      if (actual === head.sha256) return undefined;
      const mismatch = { expected: head.sha256, actual, line: index };
      return new InvalidArtifact(file, `line ${index + 1} was altered`, mismatch, remedy);
    }
    // A torn line whose head was written is committed again, with that hash. Any other line is lost.
    const next = (lines.at(-1)?.epoch ?? first - 1) + 1;
    const isTorn = length < size && head.epoch === next;
    if (isTorn) return undefined;
    const problem = `the line of epoch ${head.epoch} is gone`;
    return new InvalidArtifact(file, problem, { expected: head.sha256 }, remedy);
  }

  /** @throws InvalidArtifact if it is not JSON, StoreUnavailable */
  async read(): Promise<Head | undefined> {
    const text = await withDiskErrors(this.file, () => undefinedIfMissing(readPlainFile(this.file)));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text.toString('utf8')) as Head;
    } catch {
      throw new InvalidArtifact(this.file, 'not JSON', {}, 'Remove it: the next epoch writes it again.');
    }
  }
}

/** The end of a ledger whose lines were all verified. */
export type LedgerEnd = {
  /** Of the last line; undefined if there is none. */
  epoch: number | undefined;
  /** Hash of the last line's bytes, or the anchor. */
  head: string;
  /** Bytes of all lines. */
  length: number;
  /** Bytes of the file: more if a torn line follows. */
  size: number;
};

type Memo = LedgerEnd & { anchor: string; lastLine: number; stamp: string };

/** By file, for the whole process: each commit opens its ledger again. */
const memos = new Map<string, Memo>();
const MAX_MEMOS = 64;

const stampOf = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [size, mtimeNs, ctimeNs, ino].join(' ');

/**
 * Remembers the end of a ledger that this process has verified and then written a line of `lastLine` bytes
 * to.
 */
export function rememberEnd(
  file: string,
  memo: LedgerEnd & { anchor: string; lastLine: number },
  written: BigIntStats,
): void {
  memos.delete(file);
  if (memos.size >= MAX_MEMOS) memos.delete(memos.keys().next().value!);
  memos.set(file, { ...memo, stamp: stampOf(written) });
}

export const forgetEnd = (file: string): void => void memos.delete(file);

/**
 * The remembered end of a ledger, if its file is as this process wrote it (same place, size and times) and
 * its last line is unchanged: no later line covers that one, so its bytes are hashed again each time.
 * @throws StoreUnavailable
 */
export async function recallEnd(file: string, anchor: string): Promise<LedgerEnd | undefined> {
  const memo = memos.get(file);
  if (memo?.anchor !== anchor) return undefined;
  return withDiskErrors(file, async () => {
    const handle = await undefinedIfMissing(openPlainFile(file, constants.O_RDONLY));
    if (handle === undefined) return undefined;
    try {
      if (stampOf(await handle.stat({ bigint: true })) !== memo.stamp) return undefined;
      const line = Buffer.alloc(memo.lastLine);
      const { bytesRead } = await handle.read(line, 0, memo.lastLine, memo.length - memo.lastLine);
      return bytesRead === memo.lastLine && sha256(line.subarray(0, -1)) === memo.head ? memo : undefined;
    } finally {
      await handle.close();
    }
  });
}
