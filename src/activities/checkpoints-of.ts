import type { ArmRun, Comparison, RunCheckpoints } from '../contracts/comparisons.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import { experimentOf } from './arm-experiment.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { Ports } from './ports.ts';

/**
 * A finished run at some of its epochs, for what is measured afterwards.
 * @throws InvalidConfig where the run has not all of them
 */
export async function checkpointsOf(
  ports: Ports,
  comparison: Comparison,
  run: ArmRun,
  epochs: (last: number) => number[],
): Promise<RunCheckpoints> {
  const experiment = experimentOf(comparison, run);
  const opened = await ports.runFolder(run.id).open<LedgerEntry>();
  const lines = (await opened?.ledger.read()) ?? [];
  const checkpoints = epochs(experiment.epochs).map((epoch) => {
    const line = lines.find((one) => one.epoch === epoch);
    if (line === undefined)
      throw new InvalidConfig(
        `comparison: ${run.id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`,
      );
    return { epoch, state: line.outputs.state };
  });
  const { heartbeatSeconds, maxPhaseAttempts } = experiment.durability;
  return {
    run: { id: run.id, experiment: await ports.store.putJson(experiment) },
    settings: { heartbeatSeconds, maxPhaseAttempts },
    checkpoints,
  };
}
