import { join } from 'node:path';
import type { Experiment } from '../../config/experiment.ts';
import { parseExperiment } from '../../config/parse-experiment.ts';
import { setFields } from '../../config/retune.ts';
import type { FieldValues } from '../../config/retune.ts';
import { resolveFork } from '../../runs/fork.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { requireRun, runsFolder } from '../../runs/run-overview.ts';
import { experimentInEffect } from '../../runs/settings-in-effect.ts';
import { ObjectStore } from '../../store/object-store.ts';

/**
 * The experiment of a fork: the parent's settings in effect at that epoch, with the changes of `set`.
 * @throws InvalidConfig naming the unknown run or the field, InvalidArtifact if the epoch's policies are gone
 */
export async function forkedExperiment(
  home: string,
  { parent, id, epoch, set }: { parent: string; id: string; epoch: number; set: FieldValues },
): Promise<Experiment> {
  const folder = await requireRun(home, parent);
  const file = (await folder.readExperiment())?.experiment;
  const startFrom = { run: parent, epoch };
  const inEffect = await experimentInEffect(folder, parseExperiment(file), epoch);
  const experiment = parseExperiment({ ...setFields(inEffect, set, { mayAdd: true }), startFrom });
  const runFolder = (run: string): RunFolder => new RunFolder(runsFolder(home), run);
  // A fork that exists already has its own copy of what it started from.
  if ((await runFolder(id).readFork()) === undefined)
    await resolveFork({ runFolder, store: new ObjectStore(join(home, 'store')) }, id, experiment, startFrom);
  return experiment;
}

/** The base itself, or with the first number that no run has. */
export async function freeRunId(home: string, base: string): Promise<string> {
  const taken = new Set((await RunFolder.list(runsFolder(home))).map(({ id }) => id));
  let id = base;
  for (let next = 2; taken.has(id); next += 1) id = `${base}-${next}`;
  return id;
}
