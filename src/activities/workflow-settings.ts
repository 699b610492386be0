import { randomStream } from '../coevolution/seeds.ts';
import { armName, drawsFromPool } from '../contracts/arms.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { WorkflowSettings } from '../contracts/phases.ts';
import type { World } from '../worlds/world.ts';
import { evaluationRequests } from './evaluate-policy.ts';
import { rolloutRequests } from './roll-out.ts';
import { generationCounts } from './sample.ts';

/**
 * What the workflow needs to know of an experiment.
 * @throws InvalidConfig for an arm that the world cannot serve
 */
export function workflowSettings(experiment: Experiment, world: World): WorkflowSettings {
  const { name, arm, epochs, evaluation, durability, agent, environment, guards, maxTokens } = experiment;
  if (arm.type === 'window' && world.taskAt === undefined)
    throw new InvalidConfig(
      `experiment: arm.type: got "window"; the world "${world.name}" cannot make a task of a given difficulty`,
    );
  if (arm.type === 'best-of-n' && world.exemplarPrompt === undefined)
    throw new InvalidConfig(
      `experiment: arm.type: got "best-of-n"; the world "${world.name}" cannot show its simulator exemplars`,
    );
  const heldOut = world.heldOutTasks(randomStream(0)).length;
  const shards = (requests: number): number => Math.max(1, Math.min(durability.shards, requests));
  const generating = generationCounts(experiment).requests;
  const newTasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return {
    name,
    arm: armName(arm),
    epochs,
    evaluateEvery: evaluation.every,
    epochsPerRun: durability.epochsPerRun,
    shards: {
      generate: generating === 0 ? 0 : shards(generating),
      rollOut: shards(rolloutRequests(experiment)),
      evaluate: shards(evaluationRequests(heldOut, experiment)),
    },
    trains: { agent: agent.training !== null, environment: environment.training !== null },
    ...(drawsFromPool(arm) ? { writesPool: true as const } : {}),
    ...(guards.gateAgent && agent.training !== null ? { gateEvery: guards.gateAgent.every } : {}),
    ...(evaluation.benchmarks && { benchmarks: evaluation.benchmarks }),
    heartbeatSeconds: durability.heartbeatSeconds,
    maxPhaseAttempts: durability.maxPhaseAttempts,
    maxTokens,
    band: [0.4, 0.6],
    rolloutsPerEpoch: newTasks * agent.rolloutsPerTask,
  };
}
