import { deriveSeed } from '../coevolution/seeds.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { CandidateInput, Comparison } from '../contracts/nights.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { Ports } from './ports.ts';
import { workflowSettings } from './workflow-settings.ts';

/**
 * What to evaluate at the end of a night: the agent that it started from and the one that it made, on the same held-out tasks with
 * the same seeds. These are fresh each night: an agent that was promoted by lucky samples is not defended by the same ones.
 * @throws InvalidConfig where the night's run has not that epoch
 */
export function createCompareAgents({ runFolder, store, world }: Ports) {
  return async ({ night: { id, experiment, nightly }, epoch }: CandidateInput): Promise<Comparison> => {
    const run = await runFolder(id).open<LedgerEntry>();
    const lines = (await run?.ledger.read()) ?? [];
    const [first, made] = [run?.fork?.line ?? lines[0], lines.find((line) => line.epoch === epoch)];
    if (first === undefined || made === undefined)
      throw new InvalidConfig(
        `night: ${id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`,
      );
    const evaluated = {
      ...experiment,
      seed: deriveSeed(experiment.seed, 'compare'),
      evaluation: { ...experiment.evaluation, ...nightly.evaluation },
    };
    const { state } = made.outputs;
    return {
      run: { id, experiment: await store.putJson(evaluated) },
      epoch,
      state,
      shards: workflowSettings(evaluated, await world(evaluated.world)).shards.evaluate,
      before: first.outputs.state.agent,
      after: state.agent,
    };
  };
}
