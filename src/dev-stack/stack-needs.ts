import type { Experiment } from '../config/experiment.ts';
import { combineVllm, managedVllm } from './vllm-settings.ts';
import type { VllmSettings } from './vllm-settings.ts';

/** The services of a stack that somebody uses, besides Temporal and a worker. */
export interface StackNeeds {
  policyServer: boolean;
  trainer: boolean;
  vllm: VllmSettings | null;
}

export const noNeeds: StackNeeds = { policyServer: false, trainer: false, vllm: null };
/** What `genenv up` starts if nobody says more. */
export const standardNeeds: StackNeeds = { policyServer: true, trainer: true, vllm: null };

export function experimentNeeds(experiment: Experiment): StackNeeds {
  const { serving, trainer } = experiment;
  // Even a policy that is never updated begins with a job that makes its first weights.
  const hasOwnWeights = !(serving.type === 'openai' && serving.publish === 'none');
  return {
    policyServer: serving.type === 'embedded',
    trainer: trainer.launcher.type === 'resident' && hasOwnWeights,
    vllm: managedVllm(experiment),
  };
}

/** What both need. If no vLLM serves both, that of `first` is left, and `isServed` is false. */
export function combineNeeds(
  first: StackNeeds,
  second: StackNeeds,
): { needs: StackNeeds; isServed: boolean } {
  const vllm = combineVllm(first.vllm, second.vllm);
  return {
    needs: {
      policyServer: first.policyServer || second.policyServer,
      trainer: first.trainer || second.trainer,
      vllm: vllm ?? first.vllm,
    },
    isServed: vllm !== null || second.vllm === null,
  };
}
