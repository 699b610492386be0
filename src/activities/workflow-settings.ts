import { randomStream } from '../coevolution/seeds.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { WorkflowSettings } from '../contracts/phases.ts';
import type { World } from '../worlds/world.ts';
import { evaluationRequests } from './evaluate-policy.ts';
import { rolloutRequests } from './roll-out.ts';
import { generationCounts } from './sample.ts';

/** What the workflow needs to know of an experiment. */
export function workflowSettings(experiment: Experiment, world: World): WorkflowSettings {
  const { name, arm, epochs, evaluation, durability, agent, environment, maxTokens } = experiment;
  const heldOut = world.heldOutTasks(randomStream(0)).length;
  const shards = (requests: number): number => Math.max(1, Math.min(durability.shards, requests));
  const newTasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return {
    name,
    arm: arm.type === 'genenv' ? `genenv-${arm.preset}` : arm.type,
    epochs,
    evaluateEvery: evaluation.every,
    epochsPerRun: durability.epochsPerRun,
    shards: { generate: shards(generationCounts(experiment).requests), rollOut: shards(rolloutRequests(experiment)), evaluate: shards(evaluationRequests(heldOut, experiment)) },
    trains: { agent: agent.training !== null, environment: environment.training !== null },
    heartbeatSeconds: durability.heartbeatSeconds,
    maxPhaseAttempts: durability.maxPhaseAttempts,
    maxTokens,
    band: [0.4, 0.6],
    rolloutsPerEpoch: newTasks * agent.rolloutsPerTask,
  };
}
