import { alphaAt } from '../coevolution/target-schedule.ts';
import { armName, drawsFromPool } from '../config/arms.ts';
import type { Arm } from '../config/arms.ts';
import { replayCount } from '../config/experiment.ts';
import type { Experiment } from '../config/experiment.ts';
import { parseExperiment } from '../config/parse-experiment.ts';
import { setFields } from '../config/retune.ts';
import { randomStream } from '../numerics/random.ts';
import type { PhaseLimits, WorkflowSettings } from '../types/run-state.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { World } from '../worlds/world.ts';
import { evaluationRequests, generationCounts, rolloutRequests } from './request-plan.ts';
import type { RunFolder } from './run-folder.ts';

/**
 * The settings in effect in an epoch of a run: those of its file, α as its schedule has it, with the retunes up
 * to then.
 */
export async function experimentInEffect(
  folder: RunFolder,
  experiment: Experiment,
  epoch: number,
): Promise<Experiment> {
  const retunes = (await folder.readRetunes()).filter(({ fromEpoch }) => fromEpoch <= epoch);
  const scheduled = withScheduledTarget(experiment, epoch);
  if (retunes.length === 0) return scheduled;
  return parseExperiment(retunes.reduce<object>((settings, { set }) => setFields(settings, set), scheduled));
}

/** The settings of a file in an epoch, α as its schedule has it. */
export function withScheduledTarget(experiment: Experiment, epoch: number): Experiment {
  const { difficulty } = experiment;
  if (difficulty.alphaSchedule === undefined) return experiment;
  return { ...experiment, difficulty: { ...difficulty, alpha: alphaAt(difficulty, epoch) } };
}

/** The settings that limit a phase's activities. */
export const phaseLimits = ({ durability }: Experiment): PhaseLimits => ({
  heartbeatSeconds: durability.heartbeatSeconds,
  maxPhaseAttempts: durability.maxPhaseAttempts,
  ...(durability.maxOutageSeconds !== undefined && { maxOutageSeconds: durability.maxOutageSeconds }),
});

/**
 * The settings of an experiment that its workflow needs.
 * @throws InvalidConfig for an arm that the world cannot serve
 */
export function workflowSettings(experiment: Experiment, world: World): WorkflowSettings {
  const { name, arm, epochs, evaluation, durability, agent, environment, guards, trainer, maxTokens } =
    experiment;
  const problem = armProblem(arm, world) ?? exactProblem(evaluation, world);
  if (problem !== undefined) throw new InvalidConfig(`experiment: ${problem}`);
  const heldOut = world.heldOutTasks(randomStream(0)).length;
  const shards = (requests: number): number => Math.max(1, Math.min(durability.shards, requests));
  const generationRequests = generationCounts(experiment).requests;
  const newTasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return {
    name,
    arm: armName(arm),
    epochs,
    evaluateEvery: evaluation.every,
    epochsPerRun: durability.epochsPerRun,
    shards: {
      generate: generationRequests === 0 ? 0 : shards(generationRequests),
      rollOut: shards(rolloutRequests(experiment)),
      evaluate: shards(evaluationRequests(heldOut, experiment)),
    },
    trains: { agent: agent.training !== null, environment: environment.training !== null },
    ...(agent.training?.dynamicSampling && { dynamicSampling: agent.training.dynamicSampling }),
    ...(environment.sharesWeights === 'always' ? { sharesWeights: true as const } : {}),
    ...(trainer.concurrentUpdates ? { concurrentUpdates: true as const } : {}),
    ...(drawsFromPool(arm) ? { writesPool: true as const } : {}),
    ...(guards.coldStart ? { checksColdStart: true as const } : {}),
    ...(guards.gateAgent && agent.training !== null ? { gateEvery: guards.gateAgent.every } : {}),
    ...(evaluation.benchmarks && { benchmarks: evaluation.benchmarks }),
    ...phaseLimits(experiment),
    maxTokens,
    band: [0.4, 0.6],
    rolloutsPerEpoch:
      (newTasks + replayCount(experiment)) * agent.rolloutsPerTask + newTasks * guards.frozenSamples,
  };
}

/** Why the right answer's probability is not the chance of being right, or cannot be had in one pass. */
function exactProblem({ exact, logprob }: Experiment['evaluation'], world: World): string | undefined {
  if (exact && world.hasUniqueAnswers !== true)
    return `evaluation.exact: got true; the world "${world.name}" takes more than one text for right: leave it out`;
  if (logprob && world.turns !== undefined)
    return `evaluation.logprob: got true; a rollout of the world "${world.name}" takes several turns: leave it out`;
  return undefined;
}

/** What an arm needs of a world that the world does not have: `<field>: got <value>; <what is missing>`. */
function armProblem(arm: Arm, world: World): string | undefined {
  const missing = (field: string, value: string, what: string): string =>
    `${field}: got "${value}"; the world "${world.name}" cannot ${what}`;
  if ((arm.type === 'window' || arm.type === 'oracle') && world.taskAt === undefined)
    return missing('arm.type', arm.type, 'make a task of a given difficulty');
  if (arm.type === 'best-of-n' && world.exemplarPrompt === undefined)
    return missing('arm.type', arm.type, 'show its simulator exemplars');
  if ((arm.type === 'uniform' || arm.type === 'success-bin') && world.uniformTask === undefined)
    return missing('arm.type', arm.type, 'draw tasks by code');
  if (arm.type === 'offline' && arm.source.type === 'code' && world.uniformTask === undefined)
    return missing('arm.source.type', arm.source.type, 'draw tasks by code');
  return undefined;
}
