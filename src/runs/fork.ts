import { drawsFromPool } from '../config/arms.ts';
import type { Experiment } from '../config/experiment.ts';
import { changedFields } from '../config/retune.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { RunFolders } from './result-folders.ts';
import type { Fork } from './run-folder.ts';

/**
 * The epoch of another run that an experiment starts from. Its policies, pools and tasks are shared, so what
 * they are made of must be the same.
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
      `experiment: startFrom.run: got ${JSON.stringify(run)}, this run itself; to go back within a run use \`genenv rewind\``,
    );
  const parent = await runFolder(run).open<LedgerEntry>();
  if (parent === undefined)
    throw new InvalidConfig(
      `experiment: startFrom.run: got ${JSON.stringify(run)}; there is no such run in ${runFolder(run).path}`,
    );
  const lines = await parent.ledger.read();
  const line =
    lines.find((one) => one.epoch === epoch) ?? (parent.fork?.epoch === epoch ? parent.fork.line : undefined);
  if (line === undefined) {
    const [first, last] = [parent.fork?.epoch ?? lines[0]?.epoch, lines.at(-1)?.epoch ?? parent.fork?.epoch];
    throw new InvalidConfig(
      `experiment: startFrom.epoch: got ${epoch}; ${run} has ${last === undefined ? 'no committed epoch' : `epochs ${first ?? last} to ${last}`}`,
    );
  }
  const before = await store.json<Experiment>(line.inputs.experiment);
  const fixed = (of: Experiment) => ({
    world: of.world,
    agent: { model: of.agent.model },
    environment: { model: of.environment.model },
  });
  if (hashOf(fixed(before)) !== hashOf(fixed(experiment)))
    throw new InvalidConfig(
      `experiment: a fork shares world and models with the run it starts from, and these differ (${changedFields(fixed(before), fixed(experiment))})`,
    );
  if (drawsFromPool(experiment.arm) && hashOf(before.arm) !== hashOf(experiment.arm))
    throw new InvalidConfig(
      `experiment: arm: the arm "${experiment.arm.type}" draws from a data set that epoch 0 writes, and ${run} has another arm (${changedFields({ arm: before.arm }, { arm: experiment.arm })})`,
    );
  if (experiment.epochs <= epoch)
    throw new InvalidConfig(
      `experiment: epochs: got ${experiment.epochs}; expected more than startFrom.epoch (${epoch}), since epochs are counted from the parent's start`,
    );
  // The policies are read from the store from now on: a fork from pruned or damaged ones fails here, not in
  // its first epoch.
  await store.checkAll(line.outputs.state);
  return { run, epoch, line };
}
