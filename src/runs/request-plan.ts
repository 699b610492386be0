import { variationsWritten } from '../config/arms.ts';
import { replayCount } from '../config/experiment.ts';
import type { Experiment } from '../config/experiment.ts';

/** Requests that the phases of an epoch send to model servers, in each round of dynamic sampling. */

export const evaluationRequests = (heldOut: number, { durability }: Experiment): number =>
  requestCount(heldOut, durability.promptsPerRequest);

/** Upper limit of the rollout requests of a round: all new tasks valid. */
export function rolloutRequests(experiment: Experiment): number {
  const { environment, durability, guards } = experiment;
  const newTasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return (
    requestCount(newTasks + replayCount(experiment), durability.promptsPerRequest) +
    (guards.frozenSamples === 0 ? 0 : requestCount(newTasks, durability.promptsPerRequest))
  );
}

export const requestCount = (prompts: number, size: number): number => Math.ceil(prompts / size);

/** Share of the prompts that go to the initial simulator while the current one is starved. */
const STARVED_SHARE = 0.5;

/** Seed prompts of an epoch by simulator, and the generation requests for both. */
export function generationCounts(
  experiment: Experiment,
  starved = false,
): { initial: number; current: number; requests: number } {
  const { environment, durability } = experiment;
  if (variationsWritten(experiment) === 0) return { initial: 0, current: 0, requests: 0 };
  const share = starved ? Math.max(STARVED_SHARE, environment.initialShare) : environment.initialShare;
  const initial = Math.round(share * environment.promptsPerEpoch);
  const current = environment.promptsPerEpoch - initial;
  return {
    initial,
    current,
    requests:
      requestCount(initial, durability.promptsPerRequest) +
      requestCount(current, durability.promptsPerRequest),
  };
}
