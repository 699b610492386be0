import { drawsFromPool, variationsWritten } from '../config/arms.ts';
import { maxRounds, replayCount } from '../config/experiment.ts';
import type { Experiment } from '../config/experiment.ts';
import { servingOf } from '../config/policy-servers.ts';
import { randomStream } from '../numerics/random.ts';
import type { World } from '../worlds/world.ts';
import { evaluationRequests, generationCounts, rolloutRequests } from './request-plan.ts';

export interface ResourceEstimate {
  tasks: number;
  rollouts: number;
  evaluations: number;
  tokens: number;
  /** Of them, those that the simulator writes in epochs and in a data set. */
  simulatorTokens: number;
  /** Of them, those of votes. */
  voteTokens: number;
  /** Of them, those of wordings. */
  wordingTokens: number;
  /** Tokens that a model of embeddings reads: answers, random ones among them, and references. */
  embeddedTokens: number;
  activities: number;
  /** Of them, all of the run: shards that ask models, trainings, and other phases whose result is recorded. */
  phases: { sampling: number; training: number; plain: number };
  events: number;
  /** Runs of the experiment's workflow: it continues as new. */
  runs: number;
  /** Prompts that are sent, by kind; samples of one prompt count once, unless each is a request of its own. */
  prompts: { simulator: number; agent: number; repair: number; vote: number; wording: number };
}

/** Drawing, rewards, filter. */
const PLAIN_ACTIVITIES_OF_A_ROUND = 3;
/** Pools, commit, and what publishes both policies. */
const PLAIN_ACTIVITIES_OF_AN_EPOCH = 4;
const PLAIN_ACTIVITIES_OF_A_PREPARATION = 6;
/** Scheduled, started, completed, and the workflow task between: three events each. */
const EVENTS_PER_ACTIVITY = 6;
const EVENTS_PER_CHILD = 8;

/** Upper limit of what an experiment takes: every task valid, every completion at its token limit, and
 * every round of dynamic sampling needed. */
export function estimateResources(experiment: Experiment, world: World): ResourceEstimate {
  const { epochs, environment, agent, evaluation, guards, durability } = experiment;
  const rounds = maxRounds(experiment);
  const newTasks = rounds * environment.promptsPerEpoch * environment.variationsPerPrompt;
  const drawn = rounds * replayCount(experiment);
  const rolloutsPerEpoch = (newTasks + drawn) * agent.rolloutsPerTask;
  const frozenRollouts = newTasks * guards.frozenSamples;
  const heldOut = world.heldOutTasks(randomStream(0)).length;
  // After every so many epochs, after the last, and once before the first.
  const evaluated = Math.ceil(epochs / evaluation.every) + 1;
  const evaluations = evaluated * heldOut * evaluation.samples;
  const gate = agent.training === null ? null : guards.gateAgent;
  const gateChecks = gate ? Math.ceil(epochs / gate.every) + 1 : 0;
  const written = rounds * environment.promptsPerEpoch * variationsWritten(experiment);
  const repairs = (world.repairs?.limit ?? 0) * environment.sampling.maxTokens;
  const votes = (world.vote?.votes ?? 0) * (world.vote?.solver?.maxTokens ?? agent.sampling.maxTokens);
  const wordings =
    world.wording === undefined ? 0 : (world.wording.server?.maxTokens ?? environment.sampling.maxTokens);
  const generationTokens = written * (environment.sampling.maxTokens + repairs + votes + wordings);
  const answerTokens = agent.sampling.maxTokens * (world.turns?.limit ?? 1);
  const rolloutTokens = (rolloutsPerEpoch + frozenRollouts) * answerTokens;
  const checkRollouts = evaluations + gateChecks * (gate?.tasks ?? 0);
  const randomTokens = guards.randomAttempts * answerTokens + environment.sampling.maxTokens;
  const datasetTokens = poolTokens(experiment, world.baseTasks(randomStream(0)).length);
  const tokens = epochs * (generationTokens + rolloutTokens) + checkRollouts * answerTokens + datasetTokens;

  const frozenPrompts = guards.frozenSamples === 0 ? 0 : newTasks;
  const votePrompts = votePromptsOf(experiment, world) * written;
  const prompts = {
    simulator:
      epochs * (asksBySample(experiment) ? written : Math.min(written, rounds * environment.promptsPerEpoch)),
    agent:
      epochs * (newTasks + drawn + frozenPrompts) + evaluated * heldOut + gateChecks * (gate?.tasks ?? 0),
    repair: epochs * written * (world.repairs?.limit ?? 0),
    vote: epochs * votePrompts,
    wording: world.wording === undefined ? 0 : epochs * written,
  };
  const shards = (requests: number): number => Math.max(1, Math.min(durability.shards, requests));
  const trained = [environment, agent].filter(({ training }) => training !== null);
  const samplingOfARound =
    (variationsWritten(experiment) === 0 ? 0 : shards(generationCounts(experiment).requests)) +
    shards(rolloutRequests(experiment));
  const checks = evaluated * shards(evaluationRequests(heldOut, experiment)) + gateChecks;
  const isPooled = drawsFromPool(experiment.arm) ? 1 : 0;
  const perEpoch =
    rounds * (samplingOfARound + PLAIN_ACTIVITIES_OF_A_ROUND) + PLAIN_ACTIVITIES_OF_AN_EPOCH + trained.length;
  const activities = epochs * perEpoch + checks + PLAIN_ACTIVITIES_OF_A_PREPARATION + isPooled;
  return {
    tasks: epochs * newTasks,
    rollouts: epochs * rolloutsPerEpoch,
    evaluations,
    tokens,
    simulatorTokens:
      epochs *
        written *
        (environment.sampling.maxTokens + repairs + (world.wording?.server === undefined ? wordings : 0)) +
      (experiment.arm.type === 'static' ? datasetTokens : 0),
    voteTokens: epochs * written * votes,
    wordingTokens: epochs * written * wordings,
    embeddedTokens:
      world.embedding === undefined
        ? 0
        : epochs * (rolloutTokens + (newTasks + drawn) * randomTokens) + checkRollouts * answerTokens,
    activities,
    phases: {
      sampling: epochs * rounds * samplingOfARound + checks + isPooled,
      training: epochs * trained.length,
      plain: epochs * (rounds * PLAIN_ACTIVITIES_OF_A_ROUND + 1),
    },
    events: activities * EVENTS_PER_ACTIVITY + epochs * EVENTS_PER_CHILD,
    runs: Math.ceil(epochs / durability.epochsPerRun),
    prompts,
  };
}

/** Prompts that a vote sends for a label. */
function votePromptsOf({ world: settings }: Experiment, { vote }: World): number {
  if (vote === undefined) return 0;
  const solver = 'vote' in settings ? settings.vote?.solver : undefined;
  return solver?.api === 'chat' ? vote.votes : 1;
}

/** Whether each sample of the simulator sends its prompt, as chat completions do. */
function asksBySample(experiment: Experiment): boolean {
  const serving = servingOf(experiment, 'environment');
  return serving.type === 'openai' && serving.api === 'chat';
}

/** Tokens of a data set that is written once. */
function poolTokens({ arm, agent, environment }: Experiment, base: number): number {
  // To choose tasks, and to say how often they are solved.
  if (arm.type === 'success-bin') return 2 * arm.candidates * arm.attempts * agent.sampling.maxTokens;
  if (arm.type === 'static') return base * arm.variations * environment.sampling.maxTokens;
  return arm.type === 'offline' && arm.source.type === 'model' ? base * arm.source.maxTokens : 0;
}
