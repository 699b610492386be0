/** What the servers of a run could not do for its policies. */
import { hasSeveralTurns } from '../worlds/settings.ts';
import type { WorldSettings } from '../worlds/settings.ts';
import { rolesOf } from './experiment.ts';
import type { Experiment } from './experiment.ts';
import { servedName, servedRoles, serversApart } from './policy-servers.ts';
import { vllmRanks } from './serving.ts';

export function* servingProblems(experiment: Experiment): Generator<string> {
  const { agent, environment, serving } = experiment;
  if (serving.type === 'vllm' && serving.sleepWhileTraining && serving.baseUrl === undefined)
    yield (
      'serving.sleepWhileTraining: got true; the embedded stack starts vLLM without its sleep mode: start one ' +
      'yourself and give serving.baseUrl'
    );
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
export function* serversApartProblems(experiment: Experiment): Generator<string> {
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
export function* adapterServerProblems(experiment: Experiment): Generator<string> {
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

/** Completions of a request that the policy server takes: MAX_ROWS of trainer/genenv_trainer/serving/limits.py. */
export const maxEmbeddedRows = 4096;

/** A request that the policy server would refuse in the middle of a run. */
export function* embeddedServerProblems(experiment: Experiment): Generator<string> {
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
