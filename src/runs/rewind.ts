import { join } from 'node:path';
import { parseExperiment } from '../config/parse-experiment.ts';
import type { FieldValues } from '../config/retune.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { ObjectStore } from '../store/object-store.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { cutLedger } from './cut-ledger.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import { applyRetune, retuneRun } from './retune.ts';
import type { OpenedRun, RunFolder } from './run-folder.ts';

export interface Rewind {
  epoch: number;
  /** Settings from the epoch after it on. */
  set: FieldValues;
}

export interface Rewound {
  epoch: number;
  /** Epochs that the ledger no longer has. */
  dropped: number;
  /** Where they are kept; null where there were none. */
  branch: string | null;
}

/**
 * Goes back within a run whose workflow does not run: ledger, metrics and retunes are cut after an epoch, and
 * kept whole as a branch. Doing it again changes nothing more; a process killed in between leaves a run that
 * `finishRewind` takes up.
 * @throws InvalidConfig for an epoch that cannot be gone back to or settings that cannot be retuned, with
 * nothing changed; InvalidArtifact where the epoch's policies are no longer there
 */
export async function rewindFolder(
  folder: RunFolder,
  home: string,
  { epoch, set }: Rewind,
): Promise<Rewound> {
  const run = await folder.open<LedgerEntry>();
  if (run === undefined) throw new InvalidConfig(`run: there is no run ${JSON.stringify(folder.id)}`);
  const { keep, dropped } = await linesUpTo(run, epoch, home);
  const retunes = Object.keys(set).length > 0;
  if (retunes) await applyRetune(folder, parseExperiment(run.experiment), set, epoch + 1);

  await folder.appendEvent({ type: 'rewinding', epoch, set });
  const branch =
    dropped === 0 ? null : await cutLedger(folder, run.ledger, keep, { reason: 'rewind', epoch });
  const kept = await folder.readRetunes();
  if (kept.some(({ fromEpoch }) => fromEpoch > epoch + 1))
    await folder.writeRetunes(kept.filter(({ fromEpoch }) => fromEpoch <= epoch + 1));
  const metrics = await folder.metrics();
  if (metrics.some((line) => line.epoch > epoch))
    await atomicWrite(
      folder.metricsFile,
      metrics
        .filter((line) => line.epoch <= epoch)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
  if (retunes) await retuneRun(folder, set, epoch + 1);
  await folder.appendEvent({
    type: 'rewound',
    epoch,
    dropped,
    ...(branch === null ? {} : { kept: branch.folder }),
  });
  return { epoch, dropped, branch: branch?.folder ?? null };
}

/** Ends a rewind that was killed in between, unless the run was gone on with since. */
export async function finishRewind(folder: RunFolder, home: string): Promise<boolean> {
  const last = (await folder.events()).findLast(({ type }) =>
    ['rewinding', 'rewound', 'started', 'resumed', 'moved', 'ended'].includes(type),
  );
  if (last?.type !== 'rewinding') return false;
  await rewindFolder(folder, home, last as unknown as Rewind);
  return true;
}

/** How many lines stay, and how many go. */
async function linesUpTo(
  { ledger, fork }: OpenedRun<LedgerEntry>,
  epoch: number,
  home: string,
): Promise<{ keep: number; dropped: number }> {
  const { chain, problem } = await ledger.inspect();
  const found = chain.lines.findIndex((line) => line.epoch === epoch);
  const line = chain.lines[found] ?? (fork?.epoch === epoch ? fork.line : undefined);
  if (line === undefined) {
    const last = chain.lines.at(-1)?.epoch ?? fork?.epoch;
    throw new InvalidConfig(
      `epoch: got ${epoch}; ${last === undefined ? 'no epoch is committed' : `expected a committed epoch, ${fork?.epoch ?? chain.lines[0]?.epoch ?? last} to ${last}`}`,
    );
  }
  await new ObjectStore(join(home, 'store')).checkAll(line.outputs.state);
  const dropped = chain.lines.length - (found + 1);
  // A damaged end goes with what is cut.
  return { keep: found + 1, dropped: dropped === 0 && problem !== undefined ? 1 : dropped };
}
