import { join } from 'node:path';
import { FileRef, FolderRef, isFolderRef } from '../contracts/refs.ts';
import type { Ref } from '../contracts/refs.ts';

/** Where an object with this hash lies in a store, without what follows the hash in its name. */
export const objectUri = (sha256: string): string => `objects/${sha256.slice(0, 2)}/${sha256}`;

export const fileRef = (sha256: string, suffix: '.jsonl' | '.json' | '.txt', bytes: number, count: number): FileRef => ({ uri: objectUri(sha256) + suffix, sha256, bytes, count });

export const folderRef = (sha256: string, bytes: number, count: number): FolderRef => ({ uri: `${objectUri(sha256)}/`, sha256, bytes, count });

/** The object itself. @throws ZodError for a reference whose uri is not the place of its hash */
export function objectPath(root: string, ref: Ref): string {
  return join(root, (isFolderRef(ref) ? FolderRef : FileRef).parse(ref).uri.replace(/\/$/, ''));
}

/** The list of a folder's files, beside it, so that the folder itself is an ordinary Hugging Face folder. */
export const manifestPath = (root: string, ref: Ref): string => join(root, `${objectUri(ref.sha256)}.manifest.json`);

/** What retention leaves of an object it has pruned. */
export const tombstonePath = (root: string, ref: Ref): string => join(root, `${objectUri(ref.sha256)}.pruned.json`);
