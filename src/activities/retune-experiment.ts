import type { Experiment } from '../contracts/experiment.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import { nearestName } from '../contracts/nearest-name.ts';
import { parseExperiment } from '../contracts/parse-experiment.ts';
import type { FieldValues, Retuned, RetuneInput } from '../contracts/phases.ts';
import { retunableFields, settingsInEffect } from '../contracts/retunable.ts';
import { setFields } from '../contracts/set-fields.ts';
import type { RunFolder } from '../store/run-folder.ts';
import { experimentAt } from './experiment-at.ts';
import type { Ports } from './ports.ts';

/**
 * Changes settings of a run from an epoch on, and gives those then in effect. Asking for the same again changes nothing.
 * @throws InvalidConfig naming the field, with nothing changed
 */
export function createRetuneExperiment(ports: Pick<Ports, 'runFolder'>) {
  return async ({ id, set, fromEpoch: earliest }: RetuneInput): Promise<Retuned> => {
    const folder = ports.runFolder(id);
    const run = await folder.open();
    if (run === undefined) throw new InvalidConfig(`run: there is no run ${JSON.stringify(id)}`);
    // A server that is behind the ledger knows of fewer epochs than there are.
    const fromEpoch = Math.max(earliest, ((await run.ledger.head())?.line.epoch ?? -1) + 1);
    const after = await retuned(folder, parseExperiment(run.experiment), set, fromEpoch);
    const before = await folder.readRetunes();
    const same = before.find((retune) => retune.fromEpoch === fromEpoch);
    const retune = { fromEpoch, set: { ...same?.set, ...set }, time: new Date().toISOString() };
    await folder.writeRetunes(
      [...before.filter((one) => one !== same), retune].sort((a, b) => a.fromEpoch - b.fromEpoch),
    );
    await folder.appendEvent({ type: 'retuned', fromEpoch, set });
    return { fromEpoch, settings: settingsInEffect(after) };
  };
}

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
