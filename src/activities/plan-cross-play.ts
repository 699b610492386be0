import { evenlySpaced } from '../coevolution/evenly-spaced.ts';
import type { ArmRunInput, CrossPlayPlan } from '../contracts/comparisons.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { Ports } from './ports.ts';
import { experimentOf } from './arm-experiment.ts';
import { readComparison } from './read-comparison.ts';

/**
 * Which epochs of a run meet each other.
 * @throws InvalidConfig where the run has not all of them
 */
export function createPlanCrossPlay(ports: Ports) {
  return async ({ id, run }: ArmRunInput): Promise<CrossPlayPlan> => {
    const comparison = await readComparison(ports, id);
    const experiment = experimentOf(comparison, run);
    const { checkpoints, tasks, samples } = comparison.crossPlay!;
    const opened = await ports.runFolder(run.id).open<LedgerEntry>();
    const lines = (await opened?.ledger.read()) ?? [];
    const states = evenlySpaced(experiment.epochs, checkpoints).map((epoch) => {
      const line = lines.find((one) => one.epoch === epoch);
      if (line === undefined) throw new InvalidConfig(`comparison: ${run.id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`);
      return { epoch, state: line.outputs.state };
    });
    const { heartbeatSeconds, maxPhaseAttempts } = experiment.durability;
    return { run: { id: run.id, experiment: await ports.store.putJson(experiment) }, settings: { heartbeatSeconds, maxPhaseAttempts }, checkpoints: states, tasks, samples };
  };
}
