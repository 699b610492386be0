import type { BigIntStats } from 'node:fs';
import { open } from 'node:fs/promises';
import { sha256 } from './canonical-json.ts';
import { ifExists, onDisk } from './errors.ts';

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
 * How a ledger ends, where its file is the one that this process wrote (same place, size and times) and still has the last line that it
 * had: no later line covers that one, so its bytes are hashed again each time.
 * @throws StoreUnavailable
 */
export async function knownEnd(file: string, anchor: string): Promise<LedgerEnd | undefined> {
  const memo = memos.get(file);
  if (memo?.anchor !== anchor) return undefined;
  return onDisk(file, async () => {
    const handle = await ifExists(open(file));
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
