import type { BigIntStats } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { atomicWrite } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';

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
  /** Hash of the last line's bytes, without the newline; the anchor where there is no line. */
  head: string;
  /** Hashes of all the lines' bytes. */
  hashes: string[];
  /** Bytes that the lines take; what follows is a torn line. */
  length: number;
  /** What is wrong with the line after `lines`. */
  problem?: InvalidArtifact;
};

/**
 * Recomputes a ledger's chain from its bytes, up to the first line that does not hold. The text after the
 * last newline is no line: the process that wrote it was killed, and the epoch is committed again.
 */
export function readChain<Line extends { epoch: number; previous: string }>(
  data: Buffer,
  { anchor, first }: { anchor: string; first: number },
  file: string,
): LedgerChain<Line> {
  const chain: LedgerChain<Line> = { lines: [], head: anchor, hashes: [], length: 0 };
  for (let end = data.indexOf('\n'); end !== -1; end = data.indexOf('\n', chain.length)) {
    const bytes = data.subarray(chain.length, end);
    const line = parseLine(bytes);
    const where = `line ${chain.lines.length + 1}`;
    const last = chain.lines.at(-1);
    if (line === undefined)
      chain.problem = new InvalidArtifact(file, `${where} is no ledger line in canonical JSON`, {}, remedy);
    else if (line.previous !== chain.head)
      chain.problem = new InvalidArtifact(
        file,
        last === undefined
          ? `${where} does not start from this experiment file`
          : `line ${chain.lines.length} or ${where} was altered: their hashes do not chain`,
        { expected: chain.head, found: line.previous, line: Math.max(0, chain.lines.length - 1) },
        remedy,
      );
    else if (line.epoch !== (last === undefined ? first : last.epoch + 1))
      chain.problem = new InvalidArtifact(
        file,
        `${where} has epoch ${line.epoch}${last === undefined ? `, not ${first}` : ` after epoch ${last.epoch}`}`,
        {},
        remedy,
      );
    if (line === undefined || chain.problem !== undefined) return chain;
    chain.lines.push(line as Line);
    chain.head = sha256(bytes);
    chain.hashes.push(chain.head);
    chain.length = end + 1;
  }
  return chain;
}

const remedy =
  'Restore the file from a copy, or cut it before that line: the epochs from there on are then committed again.';

function parseLine(bytes: Buffer): { epoch: number; previous: string } | undefined {
  try {
    const line = JSON.parse(bytes.toString('utf8')) as { epoch: number; previous: string };
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
 * `ledger.head.json`, the hash of a ledger's last line: no later line covers that one. It is written after
 * its line, so it can be one line behind; never ahead, but for a last line that was torn.
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
   * The hash of an epoch's line, where this is the epoch noted. @throws InvalidArtifact if the note itself is
   * damaged
   */
  async hashOfEpoch(epoch: number): Promise<string | undefined> {
    const head = await this.read();
    return head?.epoch === epoch ? head.sha256 : undefined;
  }

  /**
   * What the note, read before it, says against a chain read from a ledger of `size` bytes; undefined where
   * they agree.
   */
  objection(
    head: Head | undefined,
    { file, first }: { file: string; first: number },
    size: number,
    { lines, hashes, length }: LedgerChain<{ epoch: number }>,
  ): InvalidArtifact | undefined {
    if (head === undefined) return undefined;
    const remedy = `Restore it from a copy. To accept it as it is, remove ${this.file}.`;
    const at = lines.findIndex((line) => line.epoch === head.epoch);
    const found = hashes[at];
    if (found !== undefined) {
      return found === head.sha256
        ? undefined
        : new InvalidArtifact(
            file,
            `line ${at + 1} was altered`,
            { expected: head.sha256, found, line: at },
            remedy,
          );
    }
    // A torn line that the note has seen whole is committed again, with that hash. Any other line is lost.
    const next = (lines.at(-1)?.epoch ?? first - 1) + 1;
    const torn = length < size && head.epoch === next;
    return torn
      ? undefined
      : new InvalidArtifact(
          file,
          `the line of epoch ${head.epoch} is gone`,
          { expected: head.sha256 },
          remedy,
        );
  }

  /** @throws InvalidArtifact if it is no JSON, StoreUnavailable */
  async read(): Promise<Head | undefined> {
    const text = await withDiskErrors(this.file, () => undefinedIfMissing(readFile(this.file, 'utf8')));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as Head;
    } catch {
      throw new InvalidArtifact(this.file, 'not JSON', {}, 'Remove it: the next epoch writes it again.');
    }
  }
}

/** The end of a ledger whose lines were all verified. */
export type LedgerEnd = {
  /** Of the last line; undefined where there is none. */
  epoch: number | undefined;
  /** Hash of the last line's bytes, or the anchor. */
  head: string;
  /** Bytes of all lines. */
  length: number;
  /** Bytes of the file: more where a torn line follows. */
  size: number;
};

type Memo = LedgerEnd & { anchor: string; lastLine: number; stamp: string };

/** By file, for the whole process: each commit opens its ledger anew. */
const memos = new Map<string, Memo>();
const most = 64;

const stampOf = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [size, mtimeNs, ctimeNs, ino].join(' ');

/** Notes how a ledger ends that this process has verified and then written a line of `lastLine` bytes to. */
export function rememberEnd(
  file: string,
  memo: LedgerEnd & { anchor: string; lastLine: number },
  written: BigIntStats,
): void {
  memos.delete(file);
  if (memos.size >= most) memos.delete(memos.keys().next().value!);
  memos.set(file, { ...memo, stamp: stampOf(written) });
}

export const forgetEnd = (file: string): void => void memos.delete(file);

/**
 * How a ledger ends, where its file is the one that this process wrote (same place, size and times) and still
 * has the last line that it had: no later line covers that one, so its bytes are hashed again each time.
 * @throws StoreUnavailable
 */
export async function knownEnd(file: string, anchor: string): Promise<LedgerEnd | undefined> {
  const memo = memos.get(file);
  if (memo?.anchor !== anchor) return undefined;
  return withDiskErrors(file, async () => {
    const handle = await undefinedIfMissing(open(file));
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
