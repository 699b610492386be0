import { InvalidArtifact } from '../store/errors.ts';
import type { LedgerChain, LedgerLine } from '../store/ledger-chain.ts';
import type { Ledger } from '../store/ledger.ts';
import { isPruned } from '../store/object-integrity.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { refsIn } from '../store/references.ts';
import type { Ref } from '../store/references.ts';
import type { RunFolder } from './run-folder.ts';

export type VerifyReport = {
  /** Ledger lines whose chain is valid. */
  lines: number;
  /** Intact objects, and their bytes. */
  objects: number;
  bytes: number;
  /** Objects that retention has removed: not damaged. */
  pruned: number;
  /** The problems, in the order of the ledger; `file` is absolute. Empty for an intact run. */
  problems: { file: string; problem: string }[];
};

/**
 * Verifies that a run's ledger starts from its experiment file, that every line chains to the one before, and
 * that every object referenced in a line has its bytes. Changes nothing.
 * @throws StoreUnavailable
 */
export async function verifyRun(store: ObjectStore, run: RunFolder): Promise<VerifyReport> {
  const report: VerifyReport = { lines: 0, objects: 0, bytes: 0, pruned: 0, problems: [] };
  const chain = await verifyLedger(run, report);
  report.lines = chain.lines.length;
  const seen = new Set<string>();
  for (const line of chain.lines) {
    try {
      for (const { ref } of refsIn(line)) {
        if (seen.has(ref.uri)) continue;
        seen.add(ref.uri);
        await verifyObject(store, ref, report);
      }
    } catch (error) {
      if (!(error instanceof InvalidArtifact)) throw error;
      report.problems.push({
        file: run.ledgerFile,
        problem: `epoch ${line.epoch}: ${error.file} is ${error.problem}`,
      });
    }
  }
  return report;
}

/**
 * Verifies experiment file and ledger; if the first line does not fit, finds out which of them was altered.
 */
async function verifyLedger(run: RunFolder, report: VerifyReport): Promise<LedgerChain<LedgerLine>> {
  const note = ({ file, problem }: { file: string; problem: string }) =>
    report.problems.push({ file, problem });
  const ledger = await ledgerOf(run, note);
  const { chain, problem } = await (ledger ?? run.ledger('')).inspect();
  if (chain.lines.length === 0 && problem?.actual !== undefined) {
    const own = await run.ledger(problem.actual, ledger?.first).inspect();
    const isLedgerValid = own.problem === undefined || own.chain.lines.length > 1;
    if (isLedgerValid) {
      if (ledger !== undefined)
        note({
          file: run.experimentFile,
          problem:
            `altered: the ledger starts from another experiment (expected ${problem.actual}, found ` +
            `${ledger.anchor})`,
        });
      if (own.problem !== undefined) note(own.problem);
      return own.chain;
    }
  }
  if (problem !== undefined) note(problem);
  return chain;
}

async function ledgerOf(
  run: RunFolder,
  note: (problem: { file: string; problem: string }) => void,
): Promise<Ledger | undefined> {
  try {
    const opened = await run.open();
    if (opened === undefined) note({ file: run.experimentFile, problem: 'missing' });
    return opened?.ledger;
  } catch (error) {
    if (!(error instanceof InvalidArtifact)) throw error;
    note(error);
    return undefined;
  }
}

async function verifyObject(store: ObjectStore, ref: Ref, report: VerifyReport): Promise<void> {
  try {
    await store.check(ref);
    report.objects += 1;
    report.bytes += ref.bytes;
  } catch (error) {
    if (!(error instanceof InvalidArtifact)) throw error;
    if (await isPruned(store.root, ref)) report.pruned += 1;
    else report.problems.push({ file: error.file, problem: error.problem });
  }
}
