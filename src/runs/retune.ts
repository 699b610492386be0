import type { Experiment } from '../config/experiment.ts';
import { parseExperiment } from '../config/parse-experiment.ts';
import { retunableFields, setFields } from '../config/retune.ts';
import type { FieldValues } from '../config/retune.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { nearestName } from '../validation/issue-messages.ts';
import type { RunFolder } from './run-folder.ts';
import { experimentAt } from './settings-in-effect.ts';

/** The settings with some set otherwise from an epoch on. @throws InvalidConfig naming the field */
export async function retuned(
  folder: RunFolder,
  experiment: Experiment,
  set: FieldValues,
  fromEpoch: number,
): Promise<Experiment> {
  checkFields(set);
  const after = parseExperiment(setFields(await experimentAt(folder, experiment, fromEpoch), set));
  if (after.epochs < fromEpoch - 1)
    throw new InvalidConfig(
      `epochs: got ${after.epochs}; expected at least ${fromEpoch - 1}, the epoch under way`,
    );
  return after;
}

function checkFields(set: FieldValues): void {
  const paths = Object.keys(set);
  if (paths.length === 0)
    throw new InvalidConfig(`retune: got no field; allowed: ${retunableFields.join(', ')}`);
  const wrong = paths.find((path) => !(retunableFields as readonly string[]).includes(path));
  if (wrong === undefined) return;
  const near = nearestName(wrong, retunableFields);
  throw new InvalidConfig(
    `${wrong}: cannot be retuned; ${near === undefined ? `allowed: ${retunableFields.join(', ')}. For other fields fork the run` : `did you mean ${near}?`}`,
  );
}
