import { parseExperiment } from '../../config/parse-experiment.ts';
import { cutLedger } from '../../runs/cut-ledger.ts';
import { lastTurn } from '../../runs/last-turn.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import type { OpenedRun, RunFolder } from '../../runs/run-folder.ts';
import { settingsWithinQuotas } from '../../runs/quotas.ts';
import { experimentInEffect, workflowSettings } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import { InvalidArtifact } from '../../store/errors.ts';
import type { LedgerLine } from '../../store/ledger-chain.ts';
import type { OpenInput } from '../../types/activity-inputs.ts';
import type { CommittedEpoch, OpenedEpoch } from '../../types/activity-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

type OpenedLedger = OpenedRun<LedgerEntry>;

/**
 * Finds out where a run stands before each epoch. Its files decide (docs/decisions/0033): a Temporal server
 * that is behind the ledger is brought forward, damaged lines are cut off the ledger and kept aside, and an
 * epoch whose policies or pools are damaged is skipped: its line stays, and it runs again. Retuned settings
 * are in effect from their epoch on.
 * @throws InvalidConfig for a run without its file, InvalidArtifact for damage that no epoch can repair
 */
export function createOpenEpoch(dependencies: Dependencies) {
  return async (input: OpenInput): Promise<OpenedEpoch> => {
    const { id, known: lastCommittedEpoch, thorough: verifiesArtifacts } = input;
    const folder = dependencies.runFolder(id);
    const run = await openRun(folder);
    if (run === undefined)
      throw new InvalidConfig(
        `run: ${folder.experimentFile} is missing; restore it, or start the experiment again`,
      );
    const lines = await readIntactLines(folder, run);
    const last = verifiesArtifacts
      ? await findLastIntactEpoch(dependencies, folder, run, lines)
      : lastEpoch(run, lines);
    if (verifiesArtifacts && (lines.length > 0 || (await isRewinding(folder))))
      await folder.appendEvent({ type: 'resumed', epoch: last?.epoch ?? null });
    else if (lastCommittedEpoch !== null && last !== null && last.epoch !== lastCommittedEpoch)
      await folder.appendEvent({ type: 'moved', from: lastCommittedEpoch, epoch: last.epoch });
    const nextEpoch = last === null ? 0 : last.epoch + 1;
    const experiment = await experimentInEffect(folder, parseExperiment(run.experiment), nextEpoch);
    const settings = workflowSettings(experiment, await dependencies.loadWorld(experiment.world));
    const { quotas, store } = dependencies;
    const use = {
      lines,
      tokens: last?.state.tokens ?? 0,
      inherited: run.fork?.line.outputs.state.tokens ?? 0,
    };
    const within = await settingsWithinQuotas(settings, quotas, store, use);
    if (within.reason !== null && nextEpoch <= settings.epochs)
      await folder.appendEvent({ type: 'quota', epoch: last?.epoch ?? 0, reason: within.reason });
    return { run: { id, experiment: await store.putJson(experiment) }, settings: within.settings, last };
  };
}

/** Whether the last turn of a run is a rewind that was killed: `resumed` after it says that nobody may complete it. */
const isRewinding = async (folder: RunFolder): Promise<boolean> =>
  lastTurn(await folder.events())?.type === 'rewinding';

/** The ledger's lines. A damaged line and all after it are cut off first; those epochs run again. */
async function readIntactLines(folder: RunFolder, run: OpenedLedger): Promise<LedgerLine<LedgerEntry>[]> {
  const { chain, problem } = await run.ledger.inspect();
  run.ledger.requireLines(chain);
  if (problem === undefined) return chain.lines;
  // Without a line number every line is intact by itself, and only the note of the ledger's head differs.
  const keep = problem.line === undefined ? chain.lines.length : Math.min(problem.line, chain.lines.length);
  const branch = await cutLedger(folder, run.ledger, keep, { reason: 'damage', problem: problem.problem });
  await folder.appendEvent({
    type: 'damaged',
    file: folder.ledgerFile,
    problem: problem.problem,
    kept: branch.folder,
  });
  return chain.lines.slice(0, keep);
}

/** The epoch of the last line, or the one that a fork starts from; null if there is none. */
function lastEpoch({ fork }: OpenedLedger, lines: readonly LedgerLine<LedgerEntry>[]): CommittedEpoch | null {
  const line = lines.at(-1) ?? fork?.line;
  if (line === undefined) return null;
  const { epoch, metrics, notes } = line;
  return { epoch, line: hashOf(line), state: line.outputs.state, metrics, notes };
}

/**
 * The last epoch whose policies and pools are intact; null if not even those of the first are, so that the
 * run is prepared again.
 */
async function findLastIntactEpoch(
  { store, activityContext }: Dependencies,
  folder: RunFolder,
  run: OpenedLedger,
  lines: readonly LedgerLine<LedgerEntry>[],
): Promise<CommittedEpoch | null> {
  const { heartbeat } = activityContext();
  for (let count = lines.length; ; count--) {
    const last = lastEpoch(run, lines.slice(0, count));
    if (last === null) return null;
    try {
      await store.checkAll(last.state);
      heartbeat({ checked: last.epoch });
      return last;
    } catch (error) {
      // Another run made a fork's first state: no epoch of this run could make it again.
      if (!(error instanceof InvalidArtifact) || count === 0) throw error;
      await folder.appendEvent({
        type: 'damaged',
        file: error.file,
        problem: error.problem,
        epoch: last.epoch,
      });
    }
  }
}
