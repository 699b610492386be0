/**
 * Files of lines that several hosts add to: ledger, metrics and events of a run. In a bucket each line is an
 * object of its own, `<file without .jsonl>/<name>.json`; the file on this disk is made of them, by name.
 */
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { mapConcurrent } from '../async/map-concurrent.ts';
import { atomicWrite, isTemporary } from './atomic-write.ts';
import type { BucketEntry } from './bucket-requests.ts';
import { sha256 } from './canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing } from './errors.ts';
import { MAX_LINES_BYTES, readPlainFile } from './plain-files.ts';
import { onThisDiskAlone } from './shared-files.ts';
import { sharedPlace } from './shared-folders.ts';

const MAX_READS = 8;
const stemOf = (path: string): string => path.replace(/\.jsonl$/, '');
/** Copies of the objects, so that only new ones are fetched. */
const copiesOf = (file: string): string => join(dirname(file), '.lines', stemOf(basename(file)));

/**
 * Adds a line to a file in a bucket, under a name that decides its place among the others.
 * @returns false if the name has another line
 */
export async function createLine(file: string, name: string, line: string): Promise<boolean> {
  const { bucket, key } = sharedPlace(file)!;
  return bucket.create(`${stemOf(key)}/${name}.json`, Buffer.from(line));
}

/** Names of the lines in the bucket that begin with `prefix`, sorted. */
export async function lineNames(file: string, prefix = ''): Promise<string[]> {
  const { bucket, key } = sharedPlace(file)!;
  return (await bucket.list(`${stemOf(key)}/${prefix}`)).map((entry) => basename(entry.key, '.json'));
}

/** Removes lines from the bucket, the last of them first: what is left has no gap. */
export async function removeLines(file: string, names: readonly string[]): Promise<void> {
  const { bucket, key } = sharedPlace(file)!;
  for (const name of [...names].sort().reverse()) await bucket.remove(`${stemOf(key)}/${name}.json`);
}

/**
 * Makes the file on this disk of the lines in the bucket; nothing below no shared folder.
 * @throws InvalidConfig for a file that is on this disk alone, StoreUnavailable
 */
export async function refreshLines(file: string): Promise<void> {
  const place = sharedPlace(file);
  if (place === undefined) return;
  const copies = copiesOf(file);
  const present = await undefinedIfMissing(readdir(copies));
  const before = await undefinedIfMissing(readPlainFile(file, MAX_LINES_BYTES));
  if (present === undefined && before !== undefined && before.length > 0) throw onThisDiskAlone(file, place);
  const entries = await place.bucket.list(`${stemOf(place.key)}/`);
  const read = async (entry: BucketEntry): Promise<Buffer> => {
    const copy = join(copies, copyName(entry));
    const cached = await undefinedIfMissing(readPlainFile(copy));
    if (cached !== undefined) return cached;
    // A rewind may have removed it since it was listed.
    const line = (await place.bucket.read(entry.key)) ?? Buffer.alloc(0);
    if (line.length > 0) await atomicWrite(copy, line);
    return line;
  };
  const lines = await mapConcurrent(entries, MAX_READS, new AbortController().signal, read);
  const text = Buffer.concat(lines.flatMap((line) => (line.length > 0 ? [line, Buffer.from('\n')] : [])));
  if (before?.equals(text) !== true && (before !== undefined || entries.length > 0))
    await atomicWrite(file, text);
  const current = new Set(entries.map(copyName));
  for (const name of present ?? [])
    if (!current.has(name) && !isTemporary(name)) await rm(join(copies, name), { force: true });
}

/** Fetches every line again: a copy on this disk may have been altered. @throws as `refreshLines` */
export async function fetchLinesAgain(file: string): Promise<void> {
  const copies = copiesOf(file);
  for (const name of (await undefinedIfMissing(readdir(copies))) ?? [])
    await rm(join(copies, name), { force: true });
  await refreshLines(file);
}

/** The same name may have another line after a rewind. @throws InvalidArtifact for a name that nobody here gives */
function copyName({ key, etag }: BucketEntry): string {
  const name = basename(key, '.json');
  if (!/^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/.test(name))
    throw new InvalidArtifact(
      key,
      'no line of this project has such a name',
      {},
      'Remove it from the bucket.',
    );
  return `${name}~${sha256(etag).slice(0, 16)}`;
}
