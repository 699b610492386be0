import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const newline = 0x0a;
/** Small: a phase may read all its shards side by side, at most 128 of them. */
const options = { highWaterMark: 1 << 16 };

export type FileFacts = { sha256: string; bytes: number; lines: number };

/** Told now and then while a large file is hashed: how many bytes of it are done. */
export type OnHashed = (progress: { file: string; bytes: number }) => void;
const beatBytes = 64 << 20;

/** Hash, size and number of lines of a file, in one pass and in flat memory. */
export async function fileFacts(path: string, onHashed: OnHashed = () => undefined): Promise<FileFacts> {
  const digest = createHash('sha256');
  let bytes = 0;
  let lines = 0;
  for await (const chunk of createReadStream(path, options) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    if (Math.floor((bytes + chunk.length) / beatBytes) > Math.floor(bytes / beatBytes))
      onHashed({ file: path, bytes: bytes + chunk.length });
    bytes += chunk.length;
    lines += countLines(chunk);
  }
  return { sha256: digest.digest('hex'), bytes, lines };
}

export function countLines(data: Buffer): number {
  let lines = 0;
  for (let at = data.indexOf(newline); at !== -1; at = data.indexOf(newline, at + 1)) lines += 1;
  return lines;
}

/** Splits at newlines only: a text in a record may hold U+2028, at which Node's own `readline` splits too. */
export function* linesOf(data: Buffer): Generator<string> {
  let start = 0;
  for (let end = data.indexOf(newline); end !== -1; end = data.indexOf(newline, start)) {
    yield data.toString('utf8', start, end);
    start = end + 1;
  }
  if (start < data.length) yield data.toString('utf8', start);
}

/** The lines of a file, in flat memory. */
export async function* streamLines(path: string): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(path, options) as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) {
      yield* linesOf(Buffer.concat([...rest, chunk.subarray(0, end)]));
      rest = [];
    }
    if (end < chunk.length) rest.push(chunk.subarray(end));
  }
  yield* linesOf(Buffer.concat(rest));
}
