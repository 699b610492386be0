/** Limits on what an epoch computes: products of fields each of which is within its own limit. */
import { MAX_CLUSTERED } from '../coevolution/task-clusters.ts';
import { maxRounds, replayCount, rolesOf } from './experiment.ts';
import type { Experiment } from './experiment.ts';

/** Rollouts of an epoch, and attempts at held-out tasks in a cell of an evaluation, that files may ask for. */
export const maxRollouts = 10_000_000;
/**
 * Shards of all rounds of an epoch. Each is two activities of some six events, and the history of the epoch's workflow
 * may have 51,200.
 */
const MAX_SHARDS_OF_EPOCH = 3_200;
/** Weights of a model from scratch: beyond it, a model is pretrained. */
const maxWeightsFromScratch = 2_000_000_000;

export function* budgetProblems(experiment: Experiment): Generator<string> {
  const { agent, environment, evaluation, guards, world } = experiment;
  const round = environment.promptsPerEpoch * environment.variationsPerPrompt + replayCount(experiment);
  const tasks = round * maxRounds(experiment);
  const rollouts = tasks * agent.rolloutsPerTask;
  if (!(rollouts <= maxRollouts))
    yield (
      `environment.promptsPerEpoch: got ${environment.promptsPerEpoch}; with its variations, drawn tasks and ` +
      `${agent.rolloutsPerTask} attempts an epoch has ${rollouts} rollouts, expected at most ${maxRollouts}`
    );
  if (typeof guards.clusterDistance === 'number' && tasks > MAX_CLUSTERED)
    yield (
      `guards.clusterDistance: got ${guards.clusterDistance}; an epoch has ${tasks} tasks, expected at most ` +
      `${MAX_CLUSTERED}, since each is compared with all others`
    );
  const { shards } = experiment.durability;
  if (shards * maxRounds(experiment) > MAX_SHARDS_OF_EPOCH)
    yield (
      `durability.shards: got ${shards}; with ${maxRounds(experiment)} rounds ` +
      `(agent.training.dynamicSampling.maxRounds), expected at most ` +
      `${Math.floor(MAX_SHARDS_OF_EPOCH / maxRounds(experiment))}`
    );
  const perCell = 'heldOutPerCell' in world ? world.heldOutPerCell : 1;
  if (perCell * evaluation.samples > maxRollouts / 1_000)
    yield (
      `evaluation.samples: got ${evaluation.samples}; with ${perCell} held-out tasks for each kind ` +
      `(world.heldOutPerCell), expected at most ${Math.floor(maxRollouts / 1_000 / perCell)}`
    );
  for (const { role, policy } of rolesOf(experiment)) {
    if (policy.model.type !== 'scratch') continue;
    const { hiddenSize, layers, intermediateSize } = policy.model.architecture;
    const weights = layers * hiddenSize * (4 * hiddenSize + 3 * intermediateSize);
    if (weights > maxWeightsFromScratch)
      yield (
        `${role}.model.architecture.hiddenSize: got ${hiddenSize}; with its layers it has ${weights} weights, ` +
        `expected at most ${maxWeightsFromScratch} in a model from scratch`
      );
  }
}
