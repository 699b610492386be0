import { canonicalJson, sha256 } from './canonical-json.ts';
import { InvalidArtifact } from './errors.ts';

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

export type Chain<Line> = {
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
 * Recomputes a ledger's chain from its bytes, up to the first line that does not hold. The text after the last newline
 * is no line: the process that wrote it was killed, and the epoch is committed again.
 */
export function readChain<Line extends { epoch: number; previous: string }>(
  data: Buffer,
  { anchor, first }: { anchor: string; first: number },
  file: string,
): Chain<Line> {
  const chain: Chain<Line> = { lines: [], head: anchor, hashes: [], length: 0 };
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
