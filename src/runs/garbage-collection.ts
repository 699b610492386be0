import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { atomicRemove, atomicWrite, isTemporary } from '../store/atomic-write.ts';
import { canonicalJson } from '../store/canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing } from '../store/errors.ts';
import { readChain } from '../store/ledger-chain.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { parseKeyRecord } from '../store/phase-cache.ts';
import type { PhaseKey } from '../store/phase-cache.ts';
import { isFolderRef, manifestPath, objectPath, refsIn, tombstonePath } from '../store/references.ts';
import type { Ref } from '../store/references.ts';
import { workPath } from '../store/work-folder.ts';
import { branchNames } from './cut-ledger.ts';
import type { RunFolder } from './run-folder.ts';

export type GarbageKind = PrunableKind | 'key' | 'work' | 'temporary' | 'unreferenced';
export type GarbageItem = StoredFile & { kind: GarbageKind; ref?: Ref };
export type GarbageReport = { dryRun: boolean; items: GarbageItem[]; bytes: Record<GarbageKind, number> };
export type GarbageOptions = {
  keep: Keep;
  /** Only say what would go. */
  dryRun?: boolean;
  /**
   * What nobody refers to goes only when it is older: a running phase refers to what it has put at its end.
   */
  graceSeconds?: number;
};

/**
 * What can go: checkpoints and trainer states that only epochs not kept name, the keys that give them,
 * finished work folders, and what killed processes left. Never what a kept epoch or the first line of any run
 * in `runs` names, what an epoch in flight has recorded or its jobs read, nor what experiments outside of
 * `runs` have recorded.
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

/**
 * Which epochs keep their checkpoints: the newest `last`, each `every`-th (0 = none), the `best` on
 * `eval/heldout`.
 */
export type Keep = { last: number; every: number; best: boolean };

export type PrunableKind = 'checkpoint' | 'trainer_state';
export type RecordedKey = { file: string; key: PhaseKey; refs: Ref[] };

/** What a store is asked to hold. */
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
 * @throws InvalidArtifact for a ledger that does not verify: nothing may be removed by what it says
 */
export async function references(store: ObjectStore, runs: RunFolder[], keep: Keep): Promise<References> {
  const found: References = {
    live: new Set(),
    prunable: new Map(),
    keys: await recordedKeys(store.root),
    committed: new Map(),
  };
  const kept = new Map<string, Set<number>>();
  for (const run of runs) {
    const { lines, left } = await readLedger(run);
    const epochs = keptEpochs(lines, keep);
    kept.set(run.id, epochs);
    found.committed.set(run.id, lines.at(-1)?.epoch ?? -1);
    for (const line of lines) sort(found, refsIn(line), epochs.has(line.epoch));
    for (const line of left) sort(found, refsIn(line), true);
  }
  for (const { key, refs } of found.keys) {
    const inFlight = key.epoch > (found.committed.get(key.experiment) ?? -1);
    sort(
      found,
      refs.map((ref) => ({ ref, path: [key.phase] })),
      inFlight || (kept.get(key.experiment)?.has(key.epoch) ?? true),
    );
  }
  for (const uri of found.live) found.prunable.delete(uri);
  return found;
}

/** The epochs whose every object stays. The first line always does: the run starts from it. */
export function keptEpochs(
  lines: { epoch: number; metrics: Record<string, unknown> }[],
  { last, every, best }: Keep,
): Set<number> {
  const kept = new Set(lines.slice(-Math.max(1, last)).map(({ epoch }) => epoch));
  if (lines[0] !== undefined) kept.add(lines[0].epoch);
  for (const { epoch } of lines) if (every > 0 && epoch % every === 0) kept.add(epoch);
  const scores = lines.flatMap(({ epoch, metrics }) =>
    typeof metrics['eval/heldout'] === 'number' ? [{ epoch, score: metrics['eval/heldout'] }] : [],
  );
  const top = scores.reduce<(typeof scores)[number] | undefined>(
    (a, b) => (a === undefined || b.score > a.score ? b : a),
    undefined,
  );
  if (best && top !== undefined) kept.add(top.epoch);
  return kept;
}

function sort(
  { live, prunable }: References,
  refs: Iterable<{ ref: Ref; path: string[] }>,
  keptWhole: boolean,
): void {
  for (const { ref, path } of refs) {
    if (keptWhole || !isFolderRef(ref)) live.add(ref.uri);
    else if (!prunable.has(ref.uri))
      prunable.set(ref.uri, {
        ref,
        kind: /trainer|optimizer/i.test(path.join('.')) ? 'trainer_state' : 'checkpoint',
      });
  }
}

async function readLedger(run: RunFolder): Promise<{ lines: LedgerLine[]; left: LedgerLine[] }> {
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
    left: await branchLines(run, ledger),
  };
}

/** Lines of the branches that a run has left, as far as they hold; the last of each stays whole. */
async function branchLines(run: RunFolder, start: { anchor: string; first: number }): Promise<LedgerLine[]> {
  const lines: LedgerLine[] = [];
  for (const name of await branchNames(run.branchesFolder)) {
    const file = join(run.branchesFolder, name, 'ledger.jsonl');
    lines.push(
      ...readChain<LedgerLine>(
        (await undefinedIfMissing(readFile(file))) ?? Buffer.alloc(0),
        start,
        file,
      ).lines.slice(-1),
    );
  }
  return lines;
}

async function recordedKeys(root: string): Promise<RecordedKey[]> {
  const folder = join(root, 'keys');
  const files = ((await undefinedIfMissing(readdir(folder, { recursive: true }))) ?? []).filter((name) =>
    /[0-9a-f]{64}\.json$/.test(name),
  );
  const keys: RecordedKey[] = [];
  for (const name of files.sort()) {
    const file = join(folder, name);
    const record = parseKeyRecord((await undefinedIfMissing(readFile(file, 'utf8'))) ?? '');
    // A damaged record names nothing: its phase is done again.
    if (record !== undefined)
      keys.push({ file, key: record.key, refs: [...refsIn(record.value)].map(({ ref }) => ref) });
  }
  return keys;
}

/** Something on disk: absolute path, size with all below it, and when it was last written. */
export type StoredFile = { path: string; bytes: number; mtimeMs: number };

/** Names in a folder, sorted; none where it is not there. */
export const namesIn = async (folder: string): Promise<string[]> =>
  ((await undefinedIfMissing(readdir(folder))) ?? []).sort();

/** Size and age of a file or folder; undefined where it has gone in the meantime. */
export async function measure(path: string): Promise<StoredFile | undefined> {
  const own = await undefinedIfMissing(stat(path));
  if (own === undefined) return undefined;
  if (!own.isDirectory()) return { path, bytes: own.size, mtimeMs: own.mtimeMs };
  const found: StoredFile = { path, bytes: 0, mtimeMs: own.mtimeMs };
  for (const name of await namesIn(path)) {
    const below = await measure(join(path, name));
    found.bytes += below?.bytes ?? 0;
    found.mtimeMs = Math.max(found.mtimeMs, below?.mtimeMs ?? 0);
  }
  return found;
}

/** Files and folders directly in `objects/<aa>/`: name without the path, and where. */
export async function scanObjects(root: string): Promise<{ uri: string; path: string }[]> {
  const found: { uri: string; path: string }[] = [];
  for (const prefix of await namesIn(join(root, 'objects'))) {
    for (const name of await namesIn(join(root, 'objects', prefix))) {
      const [, suffix] = /^[0-9a-f]{64}(\.jsonl|\.json|\.txt|\.manifest\.json|)$/.exec(name) ?? [];
      if (suffix === undefined) continue;
      // A manifest goes with its folder.
      const uri = `objects/${prefix}/${suffix === '' ? `${name}/` : name.replace('.manifest.json', '/')}`;
      found.push({ uri, path: join(root, 'objects', prefix, name) });
    }
  }
  return found;
}

/** What killed processes left under temporary names, in the store and in run folders. */
export async function scanTemporaries(root: string, runFolders: string[]): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const entry of (await undefinedIfMissing(readdir(folder, { withFileTypes: true }))) ?? []) {
      const path = join(folder, entry.name);
      if (isTemporary(entry.name)) found.push(path);
      else if (entry.isDirectory() && depth > 1) await visit(path, depth - 1);
    }
  };
  await visit(join(root, 'objects'), 2);
  await visit(join(root, 'keys'), 5);
  await visit(join(root, 'work'), 3);
  for (const folder of runFolders) await visit(folder, 1);
  return found.sort();
}

/** Work folders, with the experiment and epoch in their names. */
export async function scanWork(root: string): Promise<{ path: string; experiment: string; epoch: number }[]> {
  const found: { path: string; experiment: string; epoch: number }[] = [];
  for (const experiment of await namesIn(join(root, 'work'))) {
    for (const name of await namesIn(join(root, 'work', experiment))) {
      const epoch = /^(\d{4,})-.+-[0-9a-f]{12}$/.exec(name)?.[1];
      if (epoch !== undefined)
        found.push({ path: join(root, 'work', experiment, name), experiment, epoch: Number(epoch) });
    }
  }
  return found;
}

/** Uris of objects that an unfinished job reads: the paths in the JSON files of its work folder. */
export async function urisInWork(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await namesIn(path)).filter((name) => name.endsWith('.json'))) {
    const text = (await undefinedIfMissing(readFile(join(path, name), 'utf8'))) ?? '';
    for (const [uri] of text.matchAll(/objects\/[0-9a-f]{2}\/[0-9a-f]{64}(\.jsonl|\.json|\.txt|)/g))
      found.push(/\.\w+$/.test(uri) ? uri : `${uri}/`);
  }
  return found;
}
