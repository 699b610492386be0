import { readFile } from 'node:fs/promises';
import { atomicWrite } from './atomic-write.ts';
import { canonicalJson } from './canonical-json.ts';
import { ifExists, InvalidArtifact, onDisk } from './errors.ts';
import type { Chain } from './ledger-chain.ts';

export type Head = { epoch: number; sha256: string };

/**
 * `ledger.head.json`, the hash of a ledger's last line: no later line covers that one. It is written after its line, so
 * it can be one line behind; never ahead, but for a last line that was torn.
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

  /** The hash of an epoch's line, where this is the epoch noted. @throws InvalidArtifact if the note itself is damaged */
  async hashOfEpoch(epoch: number): Promise<string | undefined> {
    const head = await this.read();
    return head?.epoch === epoch ? head.sha256 : undefined;
  }

  /** What the note, read before it, says against a chain read from a ledger of `size` bytes; undefined where they agree. */
  objection(
    head: Head | undefined,
    { file, first }: { file: string; first: number },
    size: number,
    { lines, hashes, length }: Chain<{ epoch: number }>,
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
    const text = await onDisk(this.file, () => ifExists(readFile(this.file, 'utf8')));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as Head;
    } catch {
      throw new InvalidArtifact(this.file, 'not JSON', {}, 'Remove it: the next epoch writes it again.');
    }
  }
}
