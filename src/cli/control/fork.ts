import { join } from 'node:path';
import type { Experiment } from '../../config/experiment.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { setFields } from '../../config/retune.ts';
import type { FieldValues } from '../../config/retune.ts';
import { resolveFork } from '../../runs/fork.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { requireRun, runsFolder } from '../../runs/run-state.ts';
import { experimentInEffect } from '../../runs/settings-in-effect.ts';
import { ObjectStore } from '../../store/object-store.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { goOn } from '../run/go-on.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import type { TemporalOptions } from '../temporal-options.ts';

export interface ForkOptions extends TemporalOptions {
  epoch: number;
  id?: string;
  set: string[];
  print?: boolean;
}

/**
 * `genenv fork`: starts the experiment that the fork is, as `genenv run` would start its file. Writes nothing
 * itself.
 */
export async function fork(
  parent: string,
  set: FieldValues,
  options: ForkOptions,
  context: CliContext,
): Promise<ExitCode> {
  const home = homeFolder(context.env);
  const { epoch } = options;
  const id = options.id ?? (await freeId(runsFolder(home), `${parent}-fork-${epoch}`));
  const experiment = await forkedExperiment(home, { parent, id, epoch, set });
  if (options.print === true) {
    context.print(JSON.stringify(experiment, null, 2));
    return exitCodes.ok;
  }
  const same = `npx genenv fork ${parent} --epoch ${epoch}${options.set.map((one) => ` --set ${one}`).join('')}`;
  context.print(`${id} starts from epoch ${epoch} of ${parent}. The same with the Temporal CLI:
  ${same} --print > ${id}.json
  temporal workflow start --type experiment --task-queue genenv --workflow-id ${id} --input-file ${id}.json`);
  return goOn(
    {
      raw: experiment,
      experiment,
      id,
      home,
      again: `npx genenv resume ${id}`,
      fresh: `${same} --id ${id}-2`,
    },
    externalTemporal(options, context.env),
    context,
  );
}

/**
 * The experiment of a fork: the parent's settings in effect at that epoch, with some set otherwise.
 * @throws CliError for an unknown run, InvalidConfig naming the field, InvalidArtifact where the epoch's
 * policies are no longer there
 */
export async function forkedExperiment(
  home: string,
  { parent, id, epoch, set }: { parent: string; id: string; epoch: number; set: FieldValues },
): Promise<Experiment> {
  const folder = await requireRun(home, parent);
  const file = (await folder.readExperiment())?.experiment;
  const startFrom = { run: parent, epoch };
  const experiment = parseExperiment({
    ...setFields(await experimentInEffect(folder, parseExperiment(file), epoch), set),
    startFrom,
  });
  const runFolder = (run: string): RunFolder => new RunFolder(runsFolder(home), run);
  // One that is there already has its own copy of what it started from.
  if ((await runFolder(id).readFork()) === undefined)
    await resolveFork({ runFolder, store: new ObjectStore(join(home, 'store')) }, id, experiment, startFrom);
  return experiment;
}

async function freeId(runsRoot: string, base: string): Promise<string> {
  const taken = new Set((await RunFolder.list(runsRoot)).map(({ id }) => id));
  let id = base;
  for (let next = 2; taken.has(id); next += 1) id = `${base}-${next}`;
  return id;
}
