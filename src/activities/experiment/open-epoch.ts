import { parseExperiment } from '../../config/parse-experiment.ts';
import { cutLedger } from '../../runs/cut-ledger.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import type { OpenedRun, RunFolder } from '../../runs/run-folder.ts';
import { experimentInEffect, workflowSettings } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import { InvalidArtifact } from '../../store/errors.ts';
import type { LedgerLine } from '../../store/ledger-chain.ts';
import type { CommittedEpoch, OpenedEpoch, OpenInput } from '../../types/activity-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

type Run = OpenedRun<LedgerEntry>;

/**
 * Looks where a run stands before each epoch. Its files decide (docs/decisions/0033): a Temporal server that
 * is behind the ledger is brought forward, damage in the ledger is cut off and kept aside, an epoch whose
 * policies or pools are damaged is stepped back from, so that it is made again; what was retuned is in effect
 * from its epoch on.
 * @throws InvalidConfig for a run without its file, InvalidArtifact for damage that cannot be made again
 */
export function createOpenEpoch(dependencies: Dependencies) {
  return async ({ id, known, thorough }: OpenInput): Promise<OpenedEpoch> => {
    const folder = dependencies.runFolder(id);
    const run = await folder.open<LedgerEntry>();
    if (run === undefined)
      throw new InvalidConfig(
        `run: ${folder.experimentFile} is missing; restore it, or start the experiment again`,
      );
    const lines = await soundLines(folder, run);
    const last = thorough ? await lastWhole(dependencies, folder, run, lines) : newest(run, lines);
    if (thorough && lines.length > 0)
      await folder.appendEvent({ type: 'resumed', epoch: last?.epoch ?? null });
    else if (known !== null && last !== null && last.epoch !== known)
      await folder.appendEvent({ type: 'moved', from: known, epoch: last.epoch });
    const experiment = await experimentInEffect(
      folder,
      parseExperiment(run.experiment),
      (last?.epoch ?? -1) + 1,
    );
    return {
      run: { id, experiment: await dependencies.store.putJson(experiment) },
      settings: workflowSettings(experiment, await dependencies.loadWorld(experiment.world)),
      last,
    };
  };
}

/**
 * The ledger's lines; what is damaged, and all after it, is cut off first: those epochs are committed again.
 */
async function soundLines(folder: RunFolder, run: Run): Promise<LedgerLine<LedgerEntry>[]> {
  const { chain, problem } = await run.ledger.inspect();
  if (problem === undefined) return chain.lines;
  // An altered line holds by itself where only the note of the ledger's head betrays it.
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

function newest({ fork }: Run, lines: readonly LedgerLine<LedgerEntry>[]): CommittedEpoch | null {
  const line = lines.at(-1) ?? fork?.line;
  return line === undefined
    ? null
    : {
        epoch: line.epoch,
        line: hashOf(line),
        state: line.outputs.state,
        metrics: line.metrics,
        notes: line.notes,
      };
}

/**
 * The last epoch whose policies and pools are whole; null where not even the first are, so that the run is
 * prepared again.
 */
async function lastWhole(
  { store, activityContext }: Dependencies,
  folder: RunFolder,
  run: Run,
  lines: readonly LedgerLine<LedgerEntry>[],
): Promise<CommittedEpoch | null> {
  const { heartbeat } = activityContext();
  for (let count = lines.length; ; count--) {
    const last = newest(run, lines.slice(0, count));
    if (last === null) return null;
    try {
      await store.checkAll(last.state);
      heartbeat({ checked: last.epoch });
      return last;
    } catch (error) {
      // A fork's first state was made by another run: nothing here could make it again.
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
