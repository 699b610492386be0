import { drawsFromPool } from '../config/arms.ts';
import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { openRun } from './ledger-entry.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { RunFolders } from './result-folders.ts';
import type { Fork } from './run-folder.ts';

/**
 * Finds the epoch of another run that an experiment starts from. Its policies, pools and tasks are shared, so
 * world and models must be the same.
 * @throws InvalidConfig naming the field, InvalidArtifact for a parent whose ledger does not verify
 */
export async function resolveFork(
  { runFolder, store }: Pick<RunFolders, 'runFolder'> & { store: ObjectStore },
  id: string,
  experiment: Experiment,
  { run, epoch }: NonNullable<Experiment['startFrom']>,
): Promise<Fork<LedgerEntry>> {
  if (run === id)
    throw new InvalidConfig(
      `experiment: startFrom.run: got ${JSON.stringify(run)}, this run itself; to go back within a run ` +
        `use \`genenv rewind\``,
    );
  const parent = await openRun(runFolder(run));
  if (parent === undefined)
    throw new InvalidConfig(
      `experiment: startFrom.run: got ${JSON.stringify(run)}; there is no such run in ${runFolder(run).path}`,
    );
  const lines = await parent.ledger.read();
  const inherited = parent.fork?.epoch === epoch ? parent.fork.line : undefined;
  const line = lines.find((candidate) => candidate.epoch === epoch) ?? inherited;
  if (line === undefined) {
    const first = parent.fork?.epoch ?? lines[0]?.epoch;
    const last = lines.at(-1)?.epoch ?? parent.fork?.epoch;
    const committed = last === undefined ? 'no committed epoch' : `epochs ${first ?? last} to ${last}`;
    throw new InvalidConfig(`experiment: startFrom.epoch: got ${epoch}; ${run} has ${committed}`);
  }
  requireForkable(run, await store.json<Experiment>(line.inputs.experiment), experiment);
  if (experiment.epochs <= epoch)
    throw new InvalidConfig(
      `experiment: epochs: got ${experiment.epochs}; expected more than startFrom.epoch (${epoch}), ` +
        `since epochs are counted from the parent's start`,
    );
  // From now on the policies are read from the store: a fork from pruned or damaged ones fails here, not in
  // its first epoch.
  await store.checkAll(line.outputs.state);
  return { run, epoch, line };
}

/** The settings that a fork shares with its parent. */
const sharedSettings = ({ world, agent, environment }: Experiment) => ({
  world,
  agent: { model: agent.model },
  environment: {
    model: environment.model,
    ...(environment.serving && { serving: { model: environment.serving.model } }),
    ...(environment.sharesWeights && { sharesWeights: environment.sharesWeights }),
  },
});

function requireForkable(run: string, before: Experiment, experiment: Experiment): void {
  if (hashOf(sharedSettings(before)) !== hashOf(sharedSettings(experiment)))
    throw new InvalidConfig(
      `experiment: a fork shares world and models with the run it starts from, and these differ (${changedFields(sharedSettings(before), sharedSettings(experiment))})`,
    );
  if (drawsFromPool(experiment.arm) && hashOf(before.arm) !== hashOf(experiment.arm))
    throw new InvalidConfig(
      `experiment: arm: the arm "${experiment.arm.type}" draws from a data set that epoch 0 writes, and ` +
        `${run} has another arm (${changedFields({ arm: before.arm }, { arm: experiment.arm })})`,
    );
}
