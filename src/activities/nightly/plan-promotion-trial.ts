import { deriveSeed } from '../../numerics/random.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import { workflowSettings } from '../../runs/settings-in-effect.ts';
import type { CandidateInput } from '../../types/nightly-inputs.ts';
import type { PromotionTrial } from '../../types/nightly-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Plans the evaluation at the end of a night: the champion that the night started from and the candidate that
 * it made, on the same held-out tasks with the same seeds. The seeds are new each night, so that a champion
 * that was promoted by lucky samples does not keep its luck.
 * @throws InvalidConfig if the night's run does not have that epoch
 */
export function createPlanPromotionTrial({ runFolder, store, loadWorld }: Dependencies) {
  return async ({ night: { id, experiment, nightly }, epoch }: CandidateInput): Promise<PromotionTrial> => {
    const run = await openRun(runFolder(id));
    const lines = (await run?.ledger.read()) ?? [];
    const championLine = run?.fork?.line ?? lines[0];
    const candidateLine = lines.find((line) => line.epoch === epoch);
    if (championLine === undefined || candidateLine === undefined)
      throw new InvalidConfig(
        `night: ${id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`,
      );
    const evaluated = {
      ...experiment,
      seed: deriveSeed(experiment.seed, 'compare'),
      evaluation: { ...experiment.evaluation, ...nightly.evaluation },
    };
    const { shards } = workflowSettings(evaluated, await loadWorld(evaluated.world));
    const { state } = candidateLine.outputs;
    return {
      run: { id, experiment: await store.putJson(evaluated) },
      epoch,
      state,
      shards: shards.evaluate,
      before: championLine.outputs.state.agent,
      after: state.agent,
    };
  };
}
