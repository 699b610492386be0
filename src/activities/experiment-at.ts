import type { Experiment } from '../contracts/experiment.ts';
import { parseExperiment } from '../contracts/parse-experiment.ts';
import { setFields } from '../contracts/set-fields.ts';
import type { RunFolder } from '../store/run-folder.ts';

/** The settings in effect in an epoch of a run: those of its file, with what was retuned up to then. */
export async function experimentAt(
  folder: RunFolder,
  experiment: Experiment,
  epoch: number,
): Promise<Experiment> {
  const retunes = (await folder.readRetunes()).filter(({ fromEpoch }) => fromEpoch <= epoch);
  if (retunes.length === 0) return experiment;
  return parseExperiment(retunes.reduce<object>((settings, { set }) => setFields(settings, set), experiment));
}
