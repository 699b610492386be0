import { parseExperiment } from '../../config/parse-experiment.ts';
import { settingsInEffect } from '../../config/retune.ts';
import { retuned } from '../../runs/retune.ts';
import type { Ports } from '../../runtime/dependencies.ts';
import type { Retuned, RetuneInput } from '../../types/activity-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';

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
