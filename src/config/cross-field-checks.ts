import { MAX_CLUSTERED } from '../coevolution/guards.ts';
import {
  fitsModelsFromScratch,
  hasSeveralTurns,
  hasWarmUpCorpus,
  textLimits,
  worldProblems,
} from '../worlds/settings.ts';
import { maxRounds, replayCount } from './experiment.ts';
import type { WorldSettings } from '../worlds/settings.ts';
import type { Experiment } from './experiment.ts';
import { engineModelProblem } from './model-folder.ts';
import { positionsFromScratch } from './policies.ts';
import { servedName, servedRoles, serversApart } from './policy-servers.ts';
import { vllmRanks } from './serving.ts';
import { sharedWeightsProblems } from './shared-weights-checks.ts';

/** Combinations of valid fields that no run could honour: `<field>: got <value>; <what is allowed>`. */
export function impossibleCombinations(experiment: Experiment): string[] {
  return [
    ...budgetProblems(experiment),
    ...methodProblems(experiment),
    ...scheduleProblems(experiment),
    ...sharedWeightsProblems(experiment),
    ...successBinProblems(experiment),
    ...servingProblems(experiment),
    ...serversApartProblems(experiment),
    ...adapterServerProblems(experiment),
    ...embeddedServerProblems(experiment),
    ...modelProblems(experiment),
    ...worldProblems(experiment.world),
    ...textProblems(experiment),
    ...evaluationProblems(experiment),
  ];
}

const rolesOf = ({ agent, environment }: Experiment) =>
  [
    { role: 'agent', policy: agent },
    { role: 'environment', policy: environment },
  ] as const;

function* methodProblems(experiment: Experiment): Generator<string> {
  const { agent, environment, arm } = experiment;
  if (arm.type !== 'genenv' && environment.training !== null)
    yield (
      `environment.training: got settings; the arm "${arm.type}" keeps the simulator frozen, leave the ` +
      'field out or set it to null'
    );
  if (!['genenv', 'random', 'best-of-n'].includes(arm.type) && agent.training === null)
    yield `agent.training: got null; the arm "${arm.type}" trains the agent alone, and this leaves nothing to train`;
  if (arm.type === 'genenv' && environment.training === null && agent.training === null)
    yield 'agent.training: got null; the arm "genenv" trains the agent, the environment, or both';
  if (arm.type === 'window' && arm.lowerAt !== undefined && arm.lowerAt >= arm.raiseAt)
    yield `arm.lowerAt: got ${arm.lowerAt}; expected less than arm.raiseAt (${arm.raiseAt})`;
  const groups = environment.promptsPerEpoch * environment.variationsPerPrompt;
  if (agent.training && agent.training.minInformativeGroups > groups)
    yield (
      `agent.training.minInformativeGroups: got ${agent.training.minInformativeGroups}; an epoch has ` +
      `only ${groups} new tasks`
    );
  const stepsPerEpoch = agent.training?.stepsPerEpoch;
  if (stepsPerEpoch !== undefined && stepsPerEpoch > groups)
    yield (
      `agent.training.stepsPerEpoch: got ${stepsPerEpoch}; an epoch has only ${groups} ` +
      'new tasks, and a group is never split'
    );
  if (agent.training && (stepsPerEpoch === undefined) === (agent.training.batchSize === undefined))
    yield (
      `agent.training.batchSize: got ${agent.training.batchSize ?? 'nothing'} with stepsPerEpoch ` +
      `${stepsPerEpoch ?? 'left out'}; expected one of the two`
    );
  yield* dynamicSamplingProblems(experiment);
  for (const { role, policy } of rolesOf(experiment)) {
    if (policy.training && policy.training.schedule !== 'constant' && policy.training.scheduleSteps === null)
      yield (
        `${role}.training.scheduleSteps: got null; the schedule "${policy.training.schedule}" needs its ` +
        'number of steps'
      );
  }
}

function* successBinProblems({ arm }: Experiment): Generator<string> {
  if (arm.type !== 'success-bin') return;
  const { tasks, candidates, attempts } = arm;
  if (tasks > candidates)
    yield `arm.tasks: got ${tasks}; expected at most arm.candidates (${candidates}), of which they are chosen`;
  if (2 * candidates * attempts > maxRollouts)
    yield (
      `arm.attempts: got ${attempts}; with ${candidates} candidates (arm.candidates) expected at most ` +
      `${Math.floor(maxRollouts / 2 / candidates)}`
    );
}

function* scheduleProblems({ difficulty: { alphaSchedule = [] } }: Experiment): Generator<string> {
  for (const [index, { fromEpoch }] of alphaSchedule.entries()) {
    const earlier = alphaSchedule[index - 1]?.fromEpoch ?? 0;
    if (fromEpoch <= earlier)
      yield `difficulty.alphaSchedule[${index}].fromEpoch: got ${fromEpoch}; expected more than ${earlier}, of the step before`;
  }
}

function* dynamicSamplingProblems(experiment: Experiment): Generator<string> {
  const { agent, environment } = experiment;
  const dynamic = agent.training?.dynamicSampling;
  if (dynamic === undefined) return;
  if (!agent.training!.dropZeroVariance)
    yield (
      'agent.training.dropZeroVariance: got false; agent.training.dynamicSampling refills what is dropped: ' +
      'set it to true, or leave dynamicSampling out'
    );
  const round = environment.promptsPerEpoch * environment.variationsPerPrompt + replayCount(experiment);
  if (dynamic.informativeGroups > round * dynamic.maxRounds)
    yield (
      `agent.training.dynamicSampling.informativeGroups: got ${dynamic.informativeGroups}; ${dynamic.maxRounds} ` +
      `rounds have only ${round * dynamic.maxRounds} tasks`
    );
}

function* servingProblems(experiment: Experiment): Generator<string> {
  const { agent, environment, serving } = experiment;
  if (serving.type !== 'openai') return;
  const trained = agent.training !== null || environment.training !== null;
  if (trained && !serving.returnsTokenIds)
    yield (
      'serving.returnsTokenIds: got false; a trained policy needs a server that returns token ids (set ' +
      'agent.training and environment.training to null to keep both frozen)'
    );
  if (trained && serving.publish === 'none')
    yield 'serving.publish: got "none"; a trained policy needs "vllm-lora"';
  if (hasSeveralTurns(experiment.world) && !serving.returnsTokenIds)
    yield (
      `serving.returnsTokenIds: got false; a rollout of the world "${experiment.world.type}" takes ` +
      'several turns, which needs token ids'
    );
  if (serving.api === 'chat' && serving.publish !== 'none')
    yield (
      `serving.publish: got "${serving.publish}"; expected "none", since what is served behind chat ` +
      'completions (serving.api) stays as it is'
    );
  if (serving.api === 'chat' && serving.returnsTokenIds)
    yield 'serving.returnsTokenIds: got true; expected false, since chat completions (serving.api) give no token ids';
  const { world } = experiment;
  if (serving.api === 'chat' && 'format' in world && world.format !== 'plain')
    yield (
      `world.format: got "${world.format}"; expected "plain", since chat completions ` +
      '(serving.api) apply the model’s own template'
    );
  else if (serving.api === 'chat' && environment.serving === undefined)
    yield* simulatorFormatProblem(world, 'serving.api');
  if (serving.publish === 'none' && serving.models === null)
    yield 'serving.models: got null; with publish "none" the names of the served models are needed';
  for (const { role, policy } of rolesOf(experiment)) {
    if (
      serving.publish === 'vllm-lora' &&
      policy.training !== null &&
      !(policy.model.type === 'pretrained' && policy.model.adapter)
    )
      yield `${role}.model.adapter: got null; publish "vllm-lora" serves LoRA adapters only`;
  }
}

/** Servers apart have frozen models, each under a name that no other model of the run has. */
function* serversApartProblems(experiment: Experiment): Generator<string> {
  const { arm, environment, world } = experiment;
  const taken = new Set(servedRoles(experiment).map((role) => servedName(experiment, role)));
  for (const { field, server } of serversApart(experiment)) {
    if (taken.has(server.model) || /^(agent|environment)@/.test(server.model))
      yield (
        `${field}.model: got "${server.model}"; expected a name that no other model of the run has, since requests ` +
        'go by it'
      );
    taken.add(server.model);
  }
  const { serving, model, training } = environment;
  if (serving === undefined) return;
  // Other arms refuse them whatever serves the simulator.
  if (training !== null && arm.type === 'genenv')
    yield (
      'environment.training: got settings; the model behind environment.serving is frozen: set the field to ' +
      'null, or take the arm "best-of-n"'
    );
  if (model.type !== 'pretrained' || model.adapter !== null || model.warmUp !== undefined)
    yield (
      'environment.model: got weights to make; expected {"type": "pretrained", "path": …} without adapter and ' +
      'warmUp, since environment.serving has the weights: the path is a name for reports'
    );
  if (serving.api === 'chat') yield* simulatorFormatProblem(world, 'environment.serving.api');
}

/** A frame that is not taken for the agent's, or not by a server with chat completions. */
function* simulatorFormatProblem(world: WorldSettings, api: string): Generator<string> {
  if (!('format' in world)) return;
  const own = 'simulatorFormat' in world ? world.simulatorFormat : undefined;
  if ((own ?? world.format) !== 'plain')
    yield (
      `world.${world.type === 'programs' ? 'format' : 'simulatorFormat'}: got "${own ?? world.format}"; expected ` +
      `"plain", since chat completions (${api}) apply the model’s own template`
    );
}

/** One vLLM or SGLang serves one base model, and all policies as adapters over it. */
function* adapterServerProblems(experiment: Experiment): Generator<string> {
  const { serving, agent, environment } = experiment;
  if (serving.type !== 'vllm' && serving.type !== 'sglang') return;
  const [server, maxRank] = serving.type === 'vllm' ? ['vLLM', vllmRanks.at(-1)!] : ['SGLang', Infinity];
  const maxLength = serving.type === 'vllm' ? serving.maxModelLen : undefined;
  const served = servedRoles(experiment);
  for (const { role, policy } of rolesOf(experiment).filter(({ role }) => served.includes(role))) {
    const { model, sampling } = policy;
    if (model.type !== 'pretrained')
      yield `${role}.model.type: got "${model.type}"; expected "pretrained", since ${server} serves adapters over a model that it loads`;
    else if (model.adapter === null)
      yield `${role}.model.adapter: got null; expected LoRA settings, also of a frozen policy, since ${server} serves adapters over one model`;
    else if (model.adapter.r > maxRank)
      yield `${role}.model.adapter.r: got ${model.adapter.r}; expected at most ${maxRank}, the largest rank of ${server}`;
    if (maxLength !== undefined && sampling.maxTokens >= maxLength)
      yield (
        `${role}.sampling.maxTokens: got ${sampling.maxTokens}; expected less than serving.maxModelLen ` +
        `(${maxLength}), which holds a prompt with its answer`
      );
  }
  const [base, simulator] = [agent.model, environment.model];
  if (!served.includes('environment')) return;
  if (base.type === 'pretrained' && simulator.type === 'pretrained' && base.path !== simulator.path)
    yield (
      `environment.model.path: got "${simulator.path}"; expected "${base.path}", as the agent has, since one ${server} ` +
      'serves one model'
    );
}

/** Rollouts of an epoch, and attempts at held-out tasks in a cell of an evaluation, that files may ask for. */
export const maxRollouts = 10_000_000;
/** Weights of a model from scratch: beyond it, a model is pretrained. */
const maxWeightsFromScratch = 2_000_000_000;

/** Products of fields each of which is within its own limit. */
function* budgetProblems(experiment: Experiment): Generator<string> {
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

/** Completions of a request that the policy server takes: MAX_ROWS of trainer/genenv_trainer/serving/limits.py. */
const maxEmbeddedRows = 4096;

/** A request that the policy server would refuse in the middle of a run. */
function* embeddedServerProblems(experiment: Experiment): Generator<string> {
  const { serving, agent, environment, evaluation, guards, durability } = experiment;
  if (serving.type !== 'embedded') return;
  const attempts = {
    'agent.rolloutsPerTask': agent.rolloutsPerTask,
    ...(environment.serving === undefined && {
      'environment.variationsPerPrompt': environment.variationsPerPrompt,
    }),
    'evaluation.samples': evaluation.samples,
    'guards.frozenSamples': guards.frozenSamples,
  };
  for (const [field, count] of Object.entries(attempts)) {
    const most = Math.floor(maxEmbeddedRows / count);
    if (durability.promptsPerRequest > most)
      yield (
        `durability.promptsPerRequest: got ${durability.promptsPerRequest}; expected at most ${most}, since each prompt is ` +
        `answered ${count} times (${field}) and the policy server gives ${maxEmbeddedRows} answers to a request`
      );
  }
}

function* modelProblems(experiment: Experiment): Generator<string> {
  for (const { role, policy } of rolesOf(experiment)) {
    const { warmUp } = policy.model;
    if (warmUp && warmUp.rows < warmUp.batch)
      yield `${role}.model.warmUp.rows: got ${warmUp.rows}; expected at least one batch (${warmUp.batch})`;
    if (policy.model.type === 'pretrained') {
      yield* engineModelProblem(`${role}.model.path`, policy.model.path);
      if (warmUp && !hasWarmUpCorpus(experiment.world))
        yield (
          `${role}.model.warmUp: got ${warmUp.rows} rows; the world "${experiment.world.type}" has no corpus ` +
          'to warm a model up on: leave warmUp out'
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

function* textProblems({ world, agent, environment }: Experiment): Generator<string> {
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

function* evaluationProblems({ evaluation, agent, serving }: Experiment): Generator<string> {
  const { passAtK, samples, temperature, exact, logprob } = evaluation;
  if (logprob && serving.type !== 'embedded')
    yield (
      `evaluation.logprob: got true; a server of serving.type "${serving.type}" gives no probabilities of whole ` +
      'answers: leave it out, or expected "embedded"'
    );
  if (exact && temperature !== 1)
    yield `evaluation.exact: got true; the probability is that at evaluation.temperature 1, and it is ${temperature}`;
  if (exact && serving.type !== 'embedded')
    yield (
      `evaluation.exact: got true; a server of serving.type "${serving.type}" gives no probabilities of whole ` +
      'answers, since its API does not name the token that ends them: leave it out, or expected "embedded"'
    );
  if (passAtK !== undefined && samples < passAtK)
    yield (
      `evaluation.samples: got ${samples}; pass@${passAtK} (evaluation.passAtK) takes at least ` +
      `${passAtK} attempts at each held-out task`
    );
  if (passAtK !== undefined && temperature === 0)
    yield (
      'evaluation.temperature: got 0; greedy attempts are all alike, so pass@k (evaluation.passAtK) ' +
      'needs a temperature above 0'
    );
  if (evaluation.benchmarks !== undefined && agent.model.type === 'scratch')
    yield (
      'evaluation.benchmarks: got suites to evaluate on; an agent made from scratch knows the ' +
      'characters of its world alone: expected none, or agent.model.type "pretrained"'
    );
}
