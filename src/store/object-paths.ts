import { join } from 'node:path';
import { FileRef, FolderRef } from '../contracts/refs.ts';
import type { Ref } from '../contracts/refs.ts';
import { InvalidArtifact } from './errors.ts';

/** Where an object with this hash lies in a store, without what follows the hash in its name. */
export const objectUri = (sha256: string): string => `objects/${sha256.slice(0, 2)}/${sha256}`;

export const fileRef = (
  sha256: string,
  suffix: '.jsonl' | '.json' | '.txt',
  bytes: number,
  count: number,
): FileRef => ({ uri: objectUri(sha256) + suffix, sha256, bytes, count });

export const folderRef = (sha256: string, bytes: number, count: number): FolderRef => ({
  uri: `${objectUri(sha256)}/`,
  sha256,
  bytes,
  count,
});

/** The object itself. @throws InvalidArtifact for a reference whose uri is not the place of its hash */
export function objectPath(root: string, ref: Ref): string {
  return join(root, parseRef(ref).uri.replace(/\/$/, ''));
}

/** @throws InvalidArtifact for what has a reference's fields and is none; nothing else may name a path in the store */
export function parseRef({ uri, sha256, bytes, count }: Record<keyof Ref, unknown>): Ref {
  const parsed = (typeof uri === 'string' && uri.endsWith('/') ? FolderRef : FileRef).safeParse({
    uri,
    sha256,
    bytes,
    count,
  });
  if (parsed.success) return parsed.data;
  throw new InvalidArtifact(
    typeof uri === 'string' ? uri : JSON.stringify(uri),
    `not a reference to the store: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    {},
    'Use references as the store gave them.',
  );
}

/** The list of a folder's files, beside it, so that the folder itself is an ordinary Hugging Face folder. */
export const manifestPath = (root: string, ref: Ref): string =>
  join(root, `${objectUri(ref.sha256)}.manifest.json`);

/** What retention leaves of an object it has pruned. */
export const tombstonePath = (root: string, ref: Ref): string =>
  join(root, `${objectUri(ref.sha256)}.pruned.json`);
