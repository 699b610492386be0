import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { atomicRemove } from '../store/atomic-write.ts';
import { canonicalJson } from '../store/canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing } from '../store/errors.ts';
import { readChain } from '../store/ledger-chain.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { canaryPath, manifestPath, objectPath, tombstonePath } from '../store/object-paths.ts';
import { MAX_LINES_BYTES, readPlainFile } from '../store/plain-files.ts';
import { isFolderRef, refsIn } from '../store/references.ts';
import type { Ref } from '../store/references.ts';
import {
  measure,
  measureWork,
  scanKeys,
  scanObjects,
  scanTemporaries,
  scanWork,
  urisInWork,
} from '../store/scan.ts';
import type { RecordedKey } from '../store/scan.ts';
import type { StoredFile } from '../store/shared-scan.ts';
import { removeShared, removeSharedPath, writeShared } from '../store/shared-files.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { workPath } from '../store/work-folder.ts';
import { branchNames } from './cut-ledger.ts';
import type { RunFolder } from './run-folder.ts';

export type GarbageKind = PrunableKind | 'key' | 'work' | 'temporary' | 'unreferenced';
export type GarbageItem = StoredFile & { kind: GarbageKind; ref?: Ref };
export type GarbageReport = { dryRun: boolean; items: GarbageItem[]; bytes: Record<GarbageKind, number> };
export type GarbageOptions = {
  keep: Keep;
  /** Only report what would be removed. */
  dryRun?: boolean;
  /** Unreferenced objects younger than this stay: a running phase records its references only at its end. */
  graceSeconds?: number;
};

/**
 * Lists what can be removed: checkpoints and trainer states that only epochs not kept reference, the keys
 * that give them, finished work folders, and leftovers of killed processes. Never what a kept epoch or the
 * first line of any run in `runs` references, what an epoch in flight has recorded or its jobs read, nor what
 * experiments outside of `runs` have recorded.
 * @param runs all run folders that use the store
 * @throws InvalidArtifact for a ledger that does not verify, StoreUnavailable
 */
export async function planGarbage(
  store: ObjectStore,
  runs: RunFolder[],
  { keep, graceSeconds = 86_400 }: GarbageOptions,
): Promise<GarbageItem[]> {
  const references = await collectReferences(store, runs, keep);
  const { live, prunable, keys } = references;
  const oldest = Date.now() - graceSeconds * 1000;
  const items: GarbageItem[] = [];
  const add = async (
    kind: GarbageKind,
    path: string,
    { ref, before = Infinity }: { ref?: Ref; before?: number } = {},
  ) => {
    const size = await measureItem(kind, path);
    const isGarbage = size !== undefined && size.mtimeMs <= before;
    if (isGarbage) items.push({ kind, ...size, ...(ref && { ref }) });
    return isGarbage;
  };
  await addWork(store, references, oldest, add);
  for (const { file, refs } of keys) if (refs.some(({ uri }) => prunable.has(uri))) await add('key', file);
  for (const { ref, kind } of prunable.values()) await add(kind, objectPath(store.root, ref), { ref });
  for (const { uri, path } of await scanObjects(store.root)) {
    if (!live.has(uri) && !prunable.has(uri)) await add('unreferenced', path, { before: oldest });
  }
  const runPaths = runs.map(({ path }) => path);
  for (const path of await scanTemporaries(store.root, runPaths))
    await add('temporary', path, { before: oldest });
  return items;
}

/**
 * Removes what `planGarbage` finds, leaving a tombstone for each checkpoint and trainer state; a dry run
 * removes nothing.
 */
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

/** @returns whether the item is garbage: it is there, and old enough */
type Add = (kind: GarbageKind, path: string, limits?: { before?: number }) => Promise<boolean>;

/**
 * Work is finished if its key is recorded, or if it is old and its epoch was committed. What other work names stays: an
 * epoch may be run again, and a measurement of one that is committed may wait in a queue for days.
 */
async function addWork(
  { root }: ObjectStore,
  { keys, committed, live, prunable }: References,
  oldest: number,
  add: Add,
): Promise<void> {
  const recorded = new Set(keys.map(({ key }) => workPath(root, key)));
  for (const { path, experiment, epoch } of await scanWork(root)) {
    if (recorded.has(path)) {
      await add('work', path);
      continue;
    }
    const isCommitted = epoch <= (committed.get(experiment) ?? -1);
    if (isCommitted && (await add('work', path, { before: oldest }))) continue;
    for (const uri of await urisInWork(path)) {
      live.add(uri);
      prunable.delete(uri);
    }
  }
}

const measureItem = (kind: GarbageKind, path: string): Promise<StoredFile | undefined> =>
  kind === 'work' ? measureWork(path) : measure(path);

async function remove({ root }: ObjectStore, { kind, path, ref, mtimeMs }: GarbageItem): Promise<boolean> {
  // Put or written again since it was listed: it is needed.
  const now = await measureItem(kind, path);
  if (now === undefined || now.mtimeMs > mtimeMs) return false;
  if (ref !== undefined) await writeShared(tombstonePath(root, ref), canonicalJson({ ...ref, kind }));
  if (sharedPlace(path) !== undefined) {
    // Without its manifest a folder is gone, however far its removal comes.
    if (ref !== undefined)
      for (const companion of [manifestPath, canaryPath]) await removeShared(companion(root, ref));
    await removeSharedPath(path);
    return true;
  }
  await atomicRemove(path);
  if (ref !== undefined)
    for (const companion of [manifestPath, canaryPath]) await rm(companion(root, ref), { force: true });
  return true;
}

/**
 * Which epochs keep their checkpoints: the newest `last`, each `every`-th (0 = none), the `best` on
 * `eval/heldout`.
 */
export type Keep = { last: number; every: number; best: boolean };

export type PrunableKind = 'checkpoint' | 'trainer_state';

/** The objects and keys of a store, by whether they are needed. */
export type References = {
  /** Uris of objects that stay. */
  live: Set<string>;
  /** Folders named only by epochs that are not kept. */
  prunable: Map<string, { ref: Ref; kind: PrunableKind }>;
  keys: RecordedKey[];
  /** Newest committed epoch by experiment, for the runs given. */
  committed: Map<string, number>;
};

/**
 * Reads all ledgers and keys. What an epoch in flight has recorded stays, and so does what experiments
 * outside of `runs` have recorded; of committed epochs that are not kept, only the folders can go.
 * @throws InvalidArtifact for a ledger that does not verify, by which nothing may be removed
 */
async function collectReferences(store: ObjectStore, runs: RunFolder[], keep: Keep): Promise<References> {
  const references: References = {
    live: new Set(),
    prunable: new Map(),
    keys: await scanKeys(store.root),
    committed: new Map(),
  };
  const kept = new Map<string, Set<number>>();
  for (const run of runs) {
    const { lines, branchEnds } = await readLedger(run);
    const epochs = keptEpochs(lines, keep);
    kept.set(run.id, epochs);
    references.committed.set(run.id, lines.at(-1)?.epoch ?? -1);
    for (const line of lines) addReferences(references, refsIn(line), epochs.has(line.epoch));
    for (const line of branchEnds) addReferences(references, refsIn(line), true);
  }
  for (const { key, refs } of references.keys) {
    const isInFlight = key.epoch > (references.committed.get(key.experiment) ?? -1);
    const isKept = kept.get(key.experiment)?.has(key.epoch) ?? true;
    const refsWithPath = refs.map((ref) => ({ ref, path: [key.phase] }));
    addReferences(references, refsWithPath, isInFlight || isKept);
  }
  for (const uri of references.live) references.prunable.delete(uri);
  return references;
}

/** The epochs whose every object stays. The first line always does: the run starts from it. */
function keptEpochs(
  lines: { epoch: number; metrics: Record<string, unknown> }[],
  { last, every, best }: Keep,
): Set<number> {
  const kept = new Set(lines.slice(-Math.max(1, last)).map(({ epoch }) => epoch));
  if (lines[0] !== undefined) kept.add(lines[0].epoch);
  for (const { epoch } of lines) if (every > 0 && epoch % every === 0) kept.add(epoch);
  const scores = lines.flatMap(({ epoch, metrics }) =>
    typeof metrics['eval/heldout'] === 'number' ? [{ epoch, score: metrics['eval/heldout'] }] : [],
  );
  const maxScore = Math.max(...scores.map(({ score }) => score));
  const top = scores.find(({ score }) => score === maxScore);
  if (best && top !== undefined) kept.add(top.epoch);
  return kept;
}

function addReferences(
  { live, prunable }: References,
  refs: Iterable<{ ref: Ref; path: string[] }>,
  isKept: boolean,
): void {
  for (const { ref, path } of refs) {
    if (isKept || !isFolderRef(ref)) live.add(ref.uri);
    else if (!prunable.has(ref.uri)) {
      const isTrainerState = /trainer|optimizer/i.test(path.join('.'));
      prunable.set(ref.uri, { ref, kind: isTrainerState ? 'trainer_state' : 'checkpoint' });
    }
  }
}

async function readLedger(run: RunFolder): Promise<{ lines: LedgerLine[]; branchEnds: LedgerLine[] }> {
  const opened = await run.open();
  if (opened === undefined)
    throw new InvalidArtifact(
      run.experimentFile,
      'missing',
      {},
      'Restore it from the file the experiment was started with; nothing was removed.',
    );
  const { fork, ledger } = opened;
  return {
    lines: [...(fork === undefined ? [] : [fork.line]), ...(await ledger.read())],
    branchEnds: await readBranchEnds(run, ledger),
  };
}

/** The last valid line of each of a run's branches. */
async function readBranchEnds(
  run: RunFolder,
  start: { anchor: string; first: number },
): Promise<LedgerLine[]> {
  const ends: LedgerLine[] = [];
  for (const name of await branchNames(run.branchesFolder)) {
    const file = join(run.branchesFolder, name, 'ledger.jsonl');
    const data = (await undefinedIfMissing(readPlainFile(file, MAX_LINES_BYTES))) ?? Buffer.alloc(0);
    ends.push(...readChain<LedgerLine>(data, start, file).lines.slice(-1));
  }
  return ends;
}
