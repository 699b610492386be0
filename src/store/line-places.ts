import { constants } from 'node:fs';
import { InvalidArtifact, undefinedIfMissing } from './errors.ts';
import { wholeLines } from './object-integrity.ts';
import { isPlainFile, openPlainFile } from './plain-files.ts';

/** Where something stands in a file: its first byte, and how many bytes it has. */
export type Place = readonly [offset: number, bytes: number];

export interface PlacedLine {
  /** Without its newline. */
  line: Buffer;
  place: Place;
}

const NEWLINE = 0x0a;

/**
 * The lines of a file with their places, in flat memory. A last line without a newline is torn, and is left out.
 * @throws InvalidArtifact for a file that is missing, or a link
 */
export async function* placedLines(path: string): AsyncGenerator<PlacedLine> {
  if (!(await isPlainFile(path))) throw new InvalidArtifact(path, 'missing');
  let offset = 0;
  for await (const lines of wholeLines(path)) {
    let start = 0;
    for (let end = lines.indexOf(NEWLINE); end !== -1; end = lines.indexOf(NEWLINE, start)) {
      yield { line: lines.subarray(start, end), place: [offset + start, end - start] };
      start = end + 1;
    }
    offset += lines.length;
  }
}

/**
 * The bytes of a file at some places, each read alone.
 * @throws InvalidArtifact for a file that is missing, a link, or shorter than a place says
 */
export async function readPlaces(path: string, places: readonly Place[]): Promise<Buffer[]> {
  const handle = await undefinedIfMissing(openPlainFile(path, constants.O_RDONLY));
  if (handle === undefined) throw new InvalidArtifact(path, 'missing');
  try {
    const parts: Buffer[] = [];
    for (const [offset, bytes] of places) {
      const part = Buffer.alloc(bytes);
      const { bytesRead } = await handle.read(part, 0, bytes, offset);
      if (bytesRead !== bytes) throw new InvalidArtifact(path, `it ends before byte ${offset + bytes}`);
      parts.push(part);
    }
    return parts;
  } finally {
    await handle.close();
  }
}
