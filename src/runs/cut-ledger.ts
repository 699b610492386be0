import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { atomicWrite, makeFolder, syncFolder, temporaryName } from '../store/atomic-write.ts';
import { canonicalJson, sha256 } from '../store/canonical-json.ts';
import { errorCode, InvalidArtifact, undefinedIfMissing, withDiskErrors } from '../store/errors.ts';
import { LedgerHead } from '../store/ledger-chain.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { Ledger } from '../store/ledger.ts';
import type { RunFolder } from './run-folder.ts';

export type Branch = { name: string; folder: string };

/**
 * Cuts a run's ledger back to its first `keep` lines, which must hold, and keeps what it leaves as a branch:
 * a folder `branches/<nnnn>` with whole copies of ledger, note of its head, metrics and retunes, and
 * `why.json`. A process killed in between has lost nothing: the copies come first, and a head behind its
 * ledger is a state that every reader knows.
 * @throws StoreUnavailable, InvalidArtifact if fewer lines hold
 */
export async function cutLedger(
  folder: RunFolder,
  ledger: Ledger<{ epoch: number }>,
  keep: number,
  why: Record<string, unknown>,
): Promise<Branch> {
  const { chain } = await ledger.inspect();
  if (chain.lines.length < keep)
    throw new InvalidArtifact(
      folder.ledgerFile,
      `only ${chain.lines.length} lines hold, ${keep} were to be kept`,
    );
  const branch = await archive(folder, why);
  const lines: LedgerLine<{ epoch: number }>[] = chain.lines.slice(0, keep);
  const head = new LedgerHead(folder.ledgerFile);
  const last = lines.at(-1);
  if (last === undefined) await withDiskErrors(head.file, () => rm(head.file, { force: true }));
  else await head.write(last.epoch, sha256(canonicalJson(last)));
  await atomicWrite(folder.ledgerFile, lines.map((line) => `${canonicalJson(line)}\n`).join(''));
  return branch;
}

/** Copies what changes when a run goes back. The folder gets its name when it is whole. */
async function archive(folder: RunFolder, why: Record<string, unknown>): Promise<Branch> {
  return withDiskErrors(folder.branchesFolder, async () => {
    await makeFolder(folder.branchesFolder);
    const staged = temporaryName(folder.branchesFolder);
    await makeFolder(staged);
    for (const file of [
      folder.ledgerFile,
      new LedgerHead(folder.ledgerFile).file,
      folder.metricsFile,
      folder.retunesFile,
    ])
      await undefinedIfMissing(copyFile(file, join(staged, basename(file))));
    await atomicWrite(
      join(staged, 'why.json'),
      `${JSON.stringify({ time: new Date().toISOString(), ...why }, null, 2)}\n`,
    );
    await syncFolder(staged);
    return place(folder.branchesFolder, staged);
  });
}

async function place(branches: string, staged: string): Promise<Branch> {
  for (let next = (await branchNames(branches)).length + 1; ; next += 1) {
    const name = String(next).padStart(4, '0');
    try {
      await rename(staged, join(branches, name));
      await syncFolder(branches);
      return { name, folder: join(branches, name) };
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
    }
  }
}

/** Names of the branches that a run has left, oldest first. */
export const branchNames = async (branchesFolder: string): Promise<string[]> =>
  ((await undefinedIfMissing(readdir(branchesFolder))) ?? []).filter((name) => /^\d{4,}$/.test(name)).sort();
