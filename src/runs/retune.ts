import type { Experiment } from '../config/experiment.ts';
import { parseExperiment } from '../config/parse-experiment.ts';
import { retunableFields, setFields, settingsInEffect } from '../config/retune.ts';
import type { FieldValues } from '../config/retune.ts';
import type { Retuned } from '../types/activity-types.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { nearestName } from '../validation/issue-messages.ts';
import type { RunFolder } from './run-folder.ts';
import { experimentInEffect } from './settings-in-effect.ts';

/**
 * Changes settings of a run from an epoch on, and returns the settings then in effect. Repeating a request
 * changes nothing.
 * @param earliest the first epoch that the caller knows to be open, 0 if none has begun; the ledger may be
 *   ahead of it
 * @throws InvalidConfig naming the field, with nothing changed
 */
export async function retuneRun(folder: RunFolder, set: FieldValues, earliest: number): Promise<Retuned> {
  const run = await folder.open();
  if (run === undefined) throw new InvalidConfig(`run: there is no run ${JSON.stringify(folder.id)}`);
  const next = ((await run.ledger.head())?.line.epoch ?? run.fork?.epoch ?? -1) + 1;
  // A workflow that is behind the ledger is being told where the run stands: the settings of the next epoch may
  // have been read for it already.
  const isOpening = earliest > 0 && earliest < next;
  const fromEpoch = isOpening ? next + 1 : Math.max(earliest, next);
  const after = await applyRetune(folder, parseExperiment(run.experiment), set, fromEpoch);
  const before = await folder.readRetunes();
  const replaced = before.find((retune) => retune.fromEpoch === fromEpoch);
  const retune = { fromEpoch, set: { ...replaced?.set, ...set }, time: new Date().toISOString() };
  const retunes = [...before.filter((entry) => entry !== replaced), retune];
  await folder.writeRetunes(retunes.sort((a, b) => a.fromEpoch - b.fromEpoch));
  await folder.appendEvent({ type: 'retuned', fromEpoch, set });
  return { fromEpoch, settings: settingsInEffect(after) };
}

/** The settings of an epoch with some fields changed. @throws InvalidConfig naming the field */
export async function applyRetune(
  folder: RunFolder,
  experiment: Experiment,
  set: FieldValues,
  fromEpoch: number,
): Promise<Experiment> {
  checkFields(set);
  const after = parseExperiment(setFields(await experimentInEffect(folder, experiment, fromEpoch), set));
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
  const remedy =
    near === undefined
      ? `allowed: ${retunableFields.join(', ')}. For other fields fork the run`
      : `did you mean ${near}?`;
  throw new InvalidConfig(`${wrong}: cannot be retuned; ${remedy}`);
}
