import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isFolderRef } from '../contracts/refs.ts';
import type { Ref } from '../contracts/refs.ts';
import { branchNames } from './cut-ledger.ts';
import { ifExists, InvalidArtifact } from './errors.ts';
import { readChain } from './ledger-chain.ts';
import type { LedgerLine } from './ledger.ts';
import type { ObjectStore } from './object-store.ts';
import { parseKeyRecord } from './phase-keys.ts';
import type { PhaseKey } from './phase-keys.ts';
import { refsIn } from './refs-in.ts';
import type { RunFolder } from './run-folder.ts';

/** Which epochs keep their checkpoints: the newest `last`, each `every`-th (0 = none), the `best` on `eval/heldout`. */
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
 * Reads all ledgers and keys. What an epoch in flight has recorded stays, and so does what experiments outside of
 * `runs` have recorded; of committed epochs that are not kept, only the folders can go.
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
      ...readChain<LedgerLine>((await ifExists(readFile(file))) ?? Buffer.alloc(0), start, file).lines.slice(
        -1,
      ),
    );
  }
  return lines;
}

async function recordedKeys(root: string): Promise<RecordedKey[]> {
  const folder = join(root, 'keys');
  const files = ((await ifExists(readdir(folder, { recursive: true }))) ?? []).filter((name) =>
    /[0-9a-f]{64}\.json$/.test(name),
  );
  const keys: RecordedKey[] = [];
  for (const name of files.sort()) {
    const file = join(folder, name);
    const record = parseKeyRecord((await ifExists(readFile(file, 'utf8'))) ?? '');
    // A damaged record names nothing: its phase is done again.
    if (record !== undefined)
      keys.push({ file, key: record.key, refs: [...refsIn(record.value)].map(({ ref }) => ref) });
  }
  return keys;
}
