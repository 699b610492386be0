/** What the models of a run could not learn, read or write in its world. */
import { fitsModelsFromScratch, hasWarmUpCorpus, textLimits } from '../worlds/settings.ts';
import { rolesOf } from './experiment.ts';
import type { Experiment } from './experiment.ts';
import { engineModelProblem } from './model-folder.ts';
import { positionsFromScratch } from './models.ts';

export function* modelProblems(experiment: Experiment): Generator<string> {
  for (const { role, policy } of rolesOf(experiment)) {
    const { warmUp } = policy.model;
    if (warmUp && warmUp.rows < warmUp.batch)
      yield `${role}.model.warmUp.rows: got ${warmUp.rows}; expected at least one batch (${warmUp.batch})`;
    if (policy.model.type === 'pretrained') {
      yield* engineModelProblem(`${role}.model.path`, policy.model.path);
      if (warmUp && !hasWarmUpCorpus(experiment.world, role))
        yield (
          `${role}.model.warmUp: got ${warmUp.rows} rows; the world "${experiment.world.type}" has no corpus ` +
          'to warm this model up on: leave warmUp out'
        );
      continue;
    }
    if (!fitsModelsFromScratch(experiment.world))
      yield (
        `${role}.model.type: got "scratch"; the world "${experiment.world.type}" is in natural language, ` +
        'which takes a model that knows it: "pretrained"'
      );
    const { hiddenSize, heads } = policy.model.architecture;
    if (hiddenSize % heads !== 0 || (hiddenSize / heads) % 2 !== 0)
      yield (
        `${role}.model.architecture.heads: got ${heads}; hiddenSize ${hiddenSize} must divide into heads ` +
        'of an even size'
      );
  }
}

export function* textProblems({ world, agent, environment }: Experiment): Generator<string> {
  const limits = textLimits(world);
  if (limits === undefined) return;
  for (const [role, policy] of Object.entries({ agent, environment })) {
    const { answer, what, prompt, turns = 1, observation = 0 } = limits[role as keyof typeof limits];
    const { maxTokens } = policy.sampling;
    if (maxTokens < answer)
      yield `${role}.sampling.maxTokens: got ${maxTokens}; the longest ${what} needs ${answer}`;
    const read = prompt + (turns - 1) * observation;
    const limit = Math.floor((positionsFromScratch - read) / turns);
    if (policy.model.type === 'scratch' && maxTokens > limit)
      yield (
        `${role}.sampling.maxTokens: got ${maxTokens}; expected at most ${limit}, since a model from ` +
        `scratch has ${positionsFromScratch} positions and the longest prompt takes ${read}${turns === 1 ? '' : ` over ${turns} turns`}`
      );
  }
}
