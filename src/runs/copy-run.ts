import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../store/canonical-json.ts';
import { readCanary, writeCanary } from '../store/canaries.ts';
import { LedgerConflict } from '../store/errors.ts';
import type { LedgerBody } from '../store/ledger-chain.ts';
import { isPruned } from '../store/object-integrity.ts';
import { tombstonePath } from '../store/object-paths.ts';
import { ObjectStore } from '../store/object-store.ts';
import { PhaseCache } from '../store/phase-cache.ts';
import { MAX_LINES_BYTES, readPlainFile } from '../store/plain-files.ts';
import { isFolderRef, refsIn } from '../store/references.ts';
import type { Ref } from '../store/references.ts';
import { scanKeys } from '../store/scan.ts';
import { writeShared } from '../store/shared-files.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { branchNames } from './cut-ledger.ts';
import { RunFolder } from './run-folder.ts';
import type { OpenedRun } from './run-folder.ts';
import { verifyRun } from './verify.ts';
import type { VerifyReport } from './verify.ts';

/**
 * Copies a run with all that its ledger and its recorded phases name into the store of another home folder, whose
 * disk or bucket has it then, and verifies it there. What is there already is kept: a copy that was ended is
 * continued by the same call.
 * @param from home folder that has the run
 * @param to home folder that gets it
 * @throws InvalidConfig without such a run, InvalidArtifact for a damaged one, LedgerConflict if the other home
 * has another run of this id, or one that has continued there: nothing of it is touched; StoreUnavailable
 */
export async function copyRun(id: string, from: string, to: string): Promise<VerifyReport> {
  const source = homeOf(from, id);
  const target = homeOf(to, id);
  const run = await source.run.open();
  if (run === undefined) throw new InvalidConfig(`run: there is no run ${JSON.stringify(id)} in ${from}`);
  const lines = await run.ledger.read();
  await requireSameRun(run, target.run, to);
  const keys = (await scanKeys(source.store.root)).filter(({ key }) => key.experiment === id);
  const objects = new Map<string, Ref>();
  for (const { ref } of refsIn([run.fork ?? null, lines])) objects.set(ref.uri, ref);
  for (const ref of keys.flatMap(({ refs }) => refs)) objects.set(ref.uri, ref);
  for (const ref of objects.values()) await copyObject(source.store, target.store, ref);
  await target.run.writeExperiment(run.experiment as object);
  if (run.fork !== undefined) await target.run.writeFork(run.fork);
  const retunes = await source.run.readRetunes();
  if (retunes.length > 0) await target.run.writeRetunes(retunes);
  await copyTimes(source.run, target.run);
  for (const { key } of keys) {
    const value = await source.keys.lookup(key);
    if (value !== undefined) await target.keys.record(key, value);
  }
  // The lines last: with them the run is there.
  const copied = await target.run.open();
  for (const line of lines) {
    const body: LedgerBody & { previous?: string } = { ...line };
    delete body.previous;
    await copied!.ledger.append(body);
  }
  return verifyRun(target.store, target.run);
}

/** Refuses to copy over another run, or over one with epochs that the copied run lacks. @throws LedgerConflict */
async function requireSameRun(
  { sha256, ledger }: OpenedRun<LedgerBody>,
  target: RunFolder,
  home: string,
): Promise<void> {
  const present = await target.open();
  if (present === undefined) return;
  const name = `run: ${JSON.stringify(target.id)}`;
  if (present.sha256 !== sha256)
    throw new LedgerConflict(
      `${name}: ${home} has a run of this id with another experiment file: move it away first`,
    );
  const { hashes } = (await ledger.inspect()).chain;
  const presentHashes = (await present.ledger.inspect()).chain.hashes;
  const firstDifference = presentHashes.findIndex((hash, index) => hash !== hashes[index]);
  if (firstDifference >= 0)
    throw new LedgerConflict(
      `${name}: line ${firstDifference + 1} of the ledger in ${home} is not in the one that is copied: the run has ` +
        'continued there, or is another. Move it away first',
    );
}

type Home = { store: ObjectStore; keys: PhaseCache; run: RunFolder };

const homeOf = (home: string, id: string): Home => ({
  store: new ObjectStore(join(home, 'store')),
  keys: new PhaseCache(join(home, 'store')),
  run: new RunFolder(join(home, 'runs'), id),
});

/** What retention has removed stays removed, and its note says so in the copy too. */
async function copyObject(from: ObjectStore, to: ObjectStore, ref: Ref): Promise<void> {
  if (await isPruned(from.root, ref)) {
    await writeShared(tombstonePath(to.root, ref), canonicalJson({ ...ref, kind: 'checkpoint' }));
    return;
  }
  await from.check(ref);
  const path = from.path(ref);
  if (!isFolderRef(ref)) return to.putFile(path, ref);
  await to.putFolder(path, { expected: ref.sha256 });
  const canary = await readCanary(from.root, ref);
  if (canary !== undefined) await writeCanary(to.root, ref, canary as object);
}

/** Metrics, events and branches: what people read, and no hash covers. */
async function copyTimes(from: RunFolder, to: RunFolder): Promise<void> {
  for (const line of await from.metrics()) await to.appendMetrics(line);
  const present = new Set((await to.events()).map((event) => canonicalJson(event)));
  for (const event of await from.events())
    if (!present.has(canonicalJson(event))) await to.appendEvent(event);
  for (const name of await branchNames(from.branchesFolder)) {
    const folder = join(from.branchesFolder, name);
    for (const file of await readdir(folder)) {
      const data = await readPlainFile(join(folder, file), MAX_LINES_BYTES);
      await writeShared(join(to.branchesFolder, name, file), data);
    }
  }
}
