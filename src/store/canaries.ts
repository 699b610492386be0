/** What a server of a checkpoint must answer: a small file next to it, which no hash and no ledger covers. */
import { canonicalJson, hashOf } from './canonical-json.ts';
import { canaryPath } from './object-paths.ts';
import { readHashedText } from './plain-files.ts';
import type { FolderRef } from './references.ts';
import { writeShared } from './shared-files.ts';
import { fetchObject } from './shared-objects.ts';

/** Writes the canary of a checkpoint. It follows from the weights, so writing it twice changes nothing. */
export const writeCanary = (root: string, checkpoint: FolderRef, canary: object): Promise<void> =>
  writeShared(canaryPath(root, checkpoint), canonicalJson({ canary, sha256: hashOf(canary) }));

/** Undefined if the checkpoint has none, as those of older versions do, and if it is torn or altered. */
export async function readCanary(root: string, checkpoint: FolderRef): Promise<unknown> {
  await fetchObject(root, checkpoint);
  const text = await readHashedText(canaryPath(root, checkpoint));
  if (text === undefined) return undefined;
  try {
    const { canary, sha256 } = JSON.parse(text) as { canary: object; sha256: string };
    return hashOf(canary) === sha256 ? canary : undefined;
  } catch {
    return undefined;
  }
}
