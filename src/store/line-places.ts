import { constants } from 'node:fs';
import { InvalidArtifact, undefinedIfMissing } from './errors.ts';
import { openPlainFile } from './plain-files.ts';

/** Where something stands in a file: its first byte, and how many bytes it has. */
export type Place = readonly [offset: number, bytes: number];

export interface PlacedLine {
  /** Without its newline. */
  line: Buffer;
  place: Place;
}

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1 << 18;

/**
 * The lines of a file with their places, in flat memory. A last line without a newline is torn, and is left out.
 * @throws InvalidArtifact for a file that is missing, or a link
 */
export async function* placedLines(path: string): AsyncGenerator<PlacedLine> {
  const handle = await undefinedIfMissing(openPlainFile(path, constants.O_RDONLY));
  if (handle === undefined) throw new InvalidArtifact(path, 'missing');
  let rest: Buffer[] = [];
  let offset = 0;
  const chunks = handle.createReadStream({ highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      rest.push(chunk);
      continue;
    }
    const lines =
      rest.length === 0 ? chunk.subarray(0, end) : Buffer.concat([...rest, chunk.subarray(0, end)]);
    let start = 0;
    for (let stop = lines.indexOf(NEWLINE); stop !== -1; stop = lines.indexOf(NEWLINE, start)) {
      yield { line: lines.subarray(start, stop), place: [offset + start, stop - start] };
      start = stop + 1;
    }
    offset += lines.length;
    rest = end < chunk.length ? [chunk.subarray(end)] : [];
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
