import { rm } from 'node:fs/promises';
import type { Ref } from '../contracts/refs.ts';
import { atomicRemove, atomicWrite } from './atomic-write.ts';
import { canonicalJson } from './canonical-json.ts';
import { references } from './gc-references.ts';
import type { Keep, PrunableKind, References } from './gc-references.ts';
import { measure, scanObjects, scanTemporaries, scanWork, urisInWork } from './gc-scan.ts';
import type { Found } from './gc-scan.ts';
import { manifestPath, objectPath, tombstonePath } from './object-paths.ts';
import type { ObjectStore } from './object-store.ts';
import { workPath } from './work-folder.ts';
import type { RunFolder } from './run-folder.ts';

export type { Keep } from './gc-references.ts';
export type GarbageKind = PrunableKind | 'key' | 'work' | 'temporary' | 'unreferenced';
export type GarbageItem = Found & { kind: GarbageKind; ref?: Ref };
export type GarbageReport = { dryRun: boolean; items: GarbageItem[]; bytes: Record<GarbageKind, number> };
export type GarbageOptions = {
  keep: Keep;
  /** Only say what would go. */
  dryRun?: boolean;
  /** What nobody refers to goes only when it is older: a running phase refers to what it has put at its end. */
  graceSeconds?: number;
};

/**
 * What can go: checkpoints and trainer states that only epochs not kept name, the keys that give them, finished work
 * folders, and what killed processes left. Never what a kept epoch or the first line of any run in `runs` names, what an
 * epoch in flight has recorded or its jobs read, nor what experiments outside of `runs` have recorded.
 * @param runs all run folders that use the store
 * @throws InvalidArtifact for a ledger that does not verify, StoreUnavailable
 */
export async function planGarbage(
  store: ObjectStore,
  runs: RunFolder[],
  { keep, graceSeconds = 86_400 }: GarbageOptions,
): Promise<GarbageItem[]> {
  const found = await references(store, runs, keep);
  const oldest = Date.now() - graceSeconds * 1000;
  const items: GarbageItem[] = [];
  const add = async (
    kind: GarbageKind,
    path: string,
    { ref, before = Infinity }: { ref?: Ref; before?: number } = {},
  ) => {
    const size = await measure(path);
    if (size !== undefined && size.mtimeMs <= before) items.push({ kind, ...size, ...(ref && { ref }) });
  };
  await addWork(store, found, oldest, add);
  for (const { file, refs } of found.keys)
    if (refs.some(({ uri }) => found.prunable.has(uri))) await add('key', file);
  for (const { ref, kind } of found.prunable.values()) await add(kind, objectPath(store.root, ref), { ref });
  for (const { uri, path } of await scanObjects(store.root)) {
    if (!found.live.has(uri) && !found.prunable.has(uri)) await add('unreferenced', path, { before: oldest });
  }
  for (const path of await scanTemporaries(
    store.root,
    runs.map((run) => run.path),
  ))
    await add('temporary', path, { before: oldest });
  return items;
}

/** Removes what `planGarbage` finds, leaving a tombstone for each checkpoint and trainer state; a dry run removes nothing. */
export async function collectGarbage(
  store: ObjectStore,
  runs: RunFolder[],
  options: GarbageOptions,
): Promise<GarbageReport> {
  const { dryRun = false } = options;
  const report: GarbageReport = {
    dryRun,
    items: [],
    bytes: { checkpoint: 0, trainer_state: 0, key: 0, work: 0, temporary: 0, unreferenced: 0 },
  };
  for (const item of await planGarbage(store, runs, options)) {
    if (!dryRun && !(await remove(store, item))) continue;
    report.items.push(item);
    report.bytes[item.kind] += item.bytes;
  }
  return report;
}

type Add = (kind: GarbageKind, path: string, limits?: { before?: number }) => Promise<void>;

/** Work whose key is recorded is finished; so is what has lain untouched since its epoch was committed. */
async function addWork(
  { root }: ObjectStore,
  { keys, committed, live, prunable }: References,
  oldest: number,
  add: Add,
): Promise<void> {
  const recorded = new Set(keys.map(({ key }) => workPath(root, key)));
  for (const { path, experiment, epoch } of await scanWork(root)) {
    if (recorded.has(path)) await add('work', path);
    else if (epoch <= (committed.get(experiment) ?? -1)) await add('work', path, { before: oldest });
    else {
      for (const uri of await urisInWork(path)) {
        live.add(uri);
        prunable.delete(uri);
      }
    }
  }
}

async function remove({ root }: ObjectStore, { kind, path, ref, mtimeMs }: GarbageItem): Promise<boolean> {
  // Put or written again since it was looked at: somebody needs it.
  const now = await measure(path);
  if (now === undefined || now.mtimeMs > mtimeMs) return false;
  if (ref !== undefined) await atomicWrite(tombstonePath(root, ref), canonicalJson({ ...ref, kind }));
  await atomicRemove(path);
  if (ref !== undefined) await rm(manifestPath(root, ref), { force: true });
  return true;
}
