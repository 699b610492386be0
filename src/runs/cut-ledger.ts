import { readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { atomicWrite, makeFolder, syncFolder, temporaryName } from '../store/atomic-write.ts';
import { canonicalJson, sha256 } from '../store/canonical-json.ts';
import { errorCode, InvalidArtifact, undefinedIfMissing, withDiskErrors } from '../store/errors.ts';
import { LedgerHead } from '../store/ledger-chain.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { Ledger } from '../store/ledger.ts';
import { MAX_LINES_BYTES, readPlainFile, requirePlainFolder } from '../store/plain-files.ts';
import { fetchFolders, publishFolder, refreshCopy } from '../store/shared-files.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { lineNames, refreshLines, removeLines } from '../store/shared-lines.ts';
import type { RunFolder } from './run-folder.ts';

export type Branch = { name: string; folder: string };

/**
 * Cuts a run's ledger back to its first `keep` lines, which must be valid, and archives the run as a branch:
 * a folder `branches/<nnnn>` with whole copies of ledger, head, metrics and retunes, and `why.json`. A
 * process killed in between has lost nothing: the copies come first, and every reader accepts a head behind
 * its ledger.
 * @throws StoreUnavailable, InvalidArtifact if fewer lines hold
 */
export async function cutLedger(
  folder: RunFolder,
  ledger: Ledger<{ epoch: number }>,
  keep: number,
  why: Record<string, unknown>,
): Promise<Branch> {
  const { chain } = await ledger.inspect();
  await refreshLines(folder.metricsFile);
  await refreshCopy(folder.retunesFile);
  if (chain.lines.length < keep)
    throw new InvalidArtifact(
      folder.ledgerFile,
      `only ${chain.lines.length} lines hold, ${keep} were to be kept`,
    );
  await fetchFolders(folder.branchesFolder);
  const branch = await archive(folder, why);
  await publishFolder(branch.folder);
  if (sharedPlace(folder.ledgerFile) !== undefined) {
    await removeLines(folder.ledgerFile, (await lineNames(folder.ledgerFile)).slice(keep));
    await refreshLines(folder.ledgerFile);
    return branch;
  }
  const lines: LedgerLine<{ epoch: number }>[] = chain.lines.slice(0, keep);
  const head = new LedgerHead(folder.ledgerFile);
  const last = lines.at(-1);
  if (last === undefined) await withDiskErrors(head.file, () => rm(head.file, { force: true }));
  else await head.write(last.epoch, sha256(canonicalJson(last)));
  await atomicWrite(folder.ledgerFile, lines.map((line) => `${canonicalJson(line)}\n`).join(''));
  return branch;
}

/** Copies the files that a rewind changes. The folder gets its name when it is complete. */
async function archive(folder: RunFolder, why: Record<string, unknown>): Promise<Branch> {
  return withDiskErrors(folder.branchesFolder, async () => {
    await requirePlainFolder(folder.branchesFolder);
    await makeFolder(folder.branchesFolder);
    const staged = temporaryName(folder.branchesFolder);
    await makeFolder(staged);
    const headFile = new LedgerHead(folder.ledgerFile).file;
    for (const file of [folder.ledgerFile, headFile, folder.metricsFile, folder.retunesFile]) {
      const data = await undefinedIfMissing(readPlainFile(file, MAX_LINES_BYTES));
      if (data !== undefined) await atomicWrite(join(staged, basename(file)), data);
    }
    const reason = { time: new Date().toISOString(), ...why };
    await atomicWrite(join(staged, 'why.json'), `${JSON.stringify(reason, null, 2)}\n`);
    await syncFolder(staged);
    return renameToNext(folder.branchesFolder, staged);
  });
}

/** Gives a staged folder the next free number. */
async function renameToNext(branches: string, staged: string): Promise<Branch> {
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

/** Names of a run's branches, oldest first. @throws InvalidArtifact for a link in the place of a folder */
export async function branchNames(branchesFolder: string): Promise<string[]> {
  await requirePlainFolder(branchesFolder);
  await fetchFolders(branchesFolder);
  const entries = (await undefinedIfMissing(readdir(branchesFolder))) ?? [];
  const names = entries.filter((name) => /^\d{4,}$/.test(name)).sort();
  for (const name of names) await requirePlainFolder(join(branchesFolder, name));
  return names;
}
