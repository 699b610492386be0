import { readFile, stat } from 'node:fs/promises';
import { isFolderRef } from '../contracts/refs.ts';
import type { FileRef, Ref } from '../contracts/refs.ts';
import { sha256 } from './canonical-json.ts';
import { ifExists, InvalidArtifact, onDisk } from './errors.ts';
import { checkFolder, readManifest } from './folder-objects.ts';
import { manifestPath, objectPath, tombstonePath } from './object-paths.ts';
import { countLines, fileFacts } from './read-bytes.ts';
import type { FileFacts, OnHashed } from './read-bytes.ts';

/** Compares every byte of an object with its reference. @throws InvalidArtifact naming the file, StoreUnavailable */
export async function checkObject(root: string, ref: Ref, onHashed?: OnHashed): Promise<void> {
  const path = objectPath(root, ref);
  await onDisk(path, async () => {
    if ((await ifExists(stat(path))) === undefined) throw await absent(root, ref);
    if (isFolderRef(ref)) await checkStoredFolder(root, ref, onHashed);
    else agree(path, ref, await fileFacts(path, onHashed));
  });
}

/** The bytes of a file, checked. @throws InvalidArtifact, StoreUnavailable */
export async function readChecked(root: string, ref: FileRef): Promise<Buffer> {
  const path = objectPath(root, ref);
  const data = await onDisk(path, () => ifExists(readFile(path)));
  if (data === undefined) throw await absent(root, ref);
  agree(path, ref, { sha256: sha256(data), bytes: data.length, lines: countLines(data) });
  return data;
}

/** True if the object is gone, and retention has noted that it removed it. */
export async function isPruned(root: string, ref: Ref): Promise<boolean> {
  const exists = async (path: string) => (await onDisk(path, () => ifExists(stat(path)))) !== undefined;
  return !(await exists(objectPath(root, ref))) && exists(tombstonePath(root, ref));
}

async function checkStoredFolder(root: string, ref: Ref, onHashed?: OnHashed): Promise<void> {
  const path = objectPath(root, ref);
  const manifest = await readManifest(manifestPath(root, ref), ref.sha256);
  await checkFolder(path, manifest, onHashed);
  const bytes = manifest.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes === ref.bytes && manifest.length === ref.count) return;
  throw new InvalidArtifact(
    path,
    `the reference says ${ref.count} files of ${ref.bytes} bytes, the manifest ${manifest.length} of ${bytes}`,
  );
}

function agree(path: string, ref: FileRef, found: FileFacts): void {
  if (found.sha256 !== ref.sha256 || found.bytes !== ref.bytes) {
    throw new InvalidArtifact(path, 'altered or torn', { expected: ref.sha256, found: found.sha256 });
  }
  const count = ref.uri.endsWith('.jsonl') ? found.lines : 1;
  if (count !== ref.count)
    throw new InvalidArtifact(path, `the reference says ${ref.count} records, the file has ${count}`);
}

async function absent(root: string, ref: Ref): Promise<InvalidArtifact> {
  return new InvalidArtifact(
    objectPath(root, ref),
    (await isPruned(root, ref)) ? 'pruned by `genenv gc`' : 'missing',
    { expected: ref.sha256 },
  );
}
