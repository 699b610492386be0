/** Where an object of the store is, and what lies next to it. */
import { join } from 'node:path';
import { objectUri, parseRef } from './references.ts';
import type { Ref } from './references.ts';

/** Path of an object. @throws InvalidArtifact for a reference whose uri does not match its hash */
export function objectPath(root: string, ref: Ref): string {
  return join(root, parseRef(ref).uri.replace(/\/$/, ''));
}

/** The manifest of a folder lies next to it, so that the folder itself is an ordinary Hugging Face folder. */
export const manifestPath = (root: string, ref: Ref): string =>
  join(root, `${objectUri(ref.sha256)}.manifest.json`);

/** What a server of a checkpoint must answer lies next to it. */
export const canaryPath = (root: string, ref: Ref): string =>
  join(root, `${objectUri(ref.sha256)}.canary.json`);

/** The note that retention leaves for an object it has pruned. */
export const tombstonePath = (root: string, ref: Ref): string =>
  join(root, `${objectUri(ref.sha256)}.pruned.json`);
