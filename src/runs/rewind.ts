import { join } from 'node:path';
import { parseExperiment } from '../config/parse-experiment.ts';
import type { FieldValues } from '../config/retune.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { ObjectStore } from '../store/object-store.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { lineNames, refreshLines, removeLines } from '../store/shared-lines.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { cutLedger } from './cut-ledger.ts';
import { rewindSchema } from './file-schemas.ts';
import { lastTurn } from './last-turn.ts';
import { openRun } from './ledger-entry.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import { applyRetune, retuneRun } from './retune.ts';
import type { OpenedRun, RunFolder } from './run-folder.ts';

export interface Rewind {
  epoch: number;
  /** Settings to change, from the epoch after it on. */
  set: FieldValues;
  /** Who asked for it. */
  identity?: string;
}

export interface Rewound {
  epoch: number;
  /** Epochs that the ledger no longer has. */
  dropped: number;
  /** Where they are archived; null if there were none. */
  branch: string | null;
}

/**
 * Rewinds a run whose workflow does not run: ledger, metrics and retunes are cut after an epoch, and archived
 * whole as a branch. Repeating it changes nothing more; if the process is killed in between, `finishRewind`
 * completes it.
 * @throws InvalidConfig for an epoch that is not committed or settings that cannot be retuned, with nothing
 * changed; InvalidArtifact if the epoch's policies are no longer stored
 */
export async function rewindFolder(
  folder: RunFolder,
  home: string,
  { epoch, set, identity }: Rewind,
): Promise<Rewound> {
  const run = await openRun(folder);
  if (run === undefined) throw new InvalidConfig(`run: there is no run ${JSON.stringify(folder.id)}`);
  const { keep, dropped } = await linesUpTo(run, epoch, home);
  const hasRetunes = Object.keys(set).length > 0;
  if (hasRetunes) await applyRetune(folder, parseExperiment(run.experiment), set, epoch + 1);

  if (identity !== undefined) await folder.appendEvent({ type: 'requested', request: 'rewind', identity });
  await folder.appendEvent({ type: 'rewinding', epoch, set });
  const branch =
    dropped === 0 ? null : await cutLedger(folder, run.ledger, keep, { reason: 'rewind', epoch });
  await cutRetunes(folder, epoch + 1);
  await cutMetrics(folder, epoch);
  if (hasRetunes) await retuneRun(folder, set, epoch + 1);
  await folder.appendEvent({
    type: 'rewound',
    epoch,
    dropped,
    ...(branch === null ? {} : { kept: branch.folder }),
  });
  return { epoch, dropped, branch: branch?.folder ?? null };
}

async function cutRetunes(folder: RunFolder, lastEpoch: number): Promise<void> {
  const retunes = await folder.readRetunes();
  if (!retunes.some(({ fromEpoch }) => fromEpoch > lastEpoch)) return;
  await folder.writeRetunes(retunes.filter(({ fromEpoch }) => fromEpoch <= lastEpoch));
}

async function cutMetrics(folder: RunFolder, lastEpoch: number): Promise<void> {
  const metrics = await folder.metrics();
  if (!metrics.some(({ epoch }) => epoch > lastEpoch)) return;
  if (sharedPlace(folder.metricsFile) !== undefined) {
    const names = await lineNames(folder.metricsFile);
    await removeLines(
      folder.metricsFile,
      names.filter((name) => Number(name) > lastEpoch),
    );
    return refreshLines(folder.metricsFile);
  }
  const kept = metrics.filter(({ epoch }) => epoch <= lastEpoch);
  await atomicWrite(folder.metricsFile, kept.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Completes a rewind that was killed in between, unless the run was continued since. */
export async function finishRewind(folder: RunFolder, home: string): Promise<boolean> {
  const last = lastTurn(await folder.events());
  if (last?.type !== 'rewinding') return false;
  await rewindFolder(folder, home, rewindSchema.parse(last));
  return true;
}

/** How many lines to keep, and how many to drop. */
async function linesUpTo(
  { ledger, fork }: OpenedRun<LedgerEntry>,
  epoch: number,
  home: string,
): Promise<{ keep: number; dropped: number }> {
  const { chain, problem } = await ledger.inspect();
  const index = chain.lines.findIndex((line) => line.epoch === epoch);
  const line = chain.lines[index] ?? (fork?.epoch === epoch ? fork.line : undefined);
  if (line === undefined) {
    const last = chain.lines.at(-1)?.epoch ?? fork?.epoch;
    if (last === undefined) throw new InvalidConfig(`epoch: got ${epoch}; no epoch is committed`);
    const first = fork?.epoch ?? chain.lines[0]?.epoch ?? last;
    throw new InvalidConfig(`epoch: got ${epoch}; expected a committed epoch, ${first} to ${last}`);
  }
  await new ObjectStore(join(home, 'store')).checkAll(line.outputs.state);
  const keep = index + 1;
  const dropped = chain.lines.length - keep;
  // A damaged end is dropped too.
  return { keep, dropped: dropped === 0 && problem !== undefined ? 1 : dropped };
}
