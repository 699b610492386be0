import { z } from 'zod';
import { experimentSchema } from './experiment.ts';
import type { Experiment } from './experiment.ts';
import { InvalidConfig } from './invalid-config.ts';
import { presets } from './presets.ts';

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values of `over` win; objects merge key by key, but not those that chose another variant (`type`) than the preset. */
function merge(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isObject(under) || !isObject(over)) return over;
  if ('type' in over && 'type' in under && over.type !== under.type) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merge(under[key], over[key])]));
}

const show = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
};
const at = (root: unknown, path: readonly PropertyKey[]): unknown => path.reduce<unknown>((value, key) => (value as Json | undefined)?.[key as string], root);
const dotted = (path: readonly PropertyKey[]): string => (path.length === 0 ? 'the file' : path.map(String).join('.'));

function allowed(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return `unknown field${issue.keys.length > 1 ? 's' : ''} ${issue.keys.map((key) => `"${key}"`).join(', ')}`;
    case 'invalid_value':
      return `allowed: ${issue.values.map(show).join(', ')}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options) ? `allowed: ${issue.options.map(show).join(', ')}` : issue.message;
    default:
      return issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '');
  }
}

function describe(issue: z.core.$ZodIssue, root: unknown): string {
  const field = dotted(issue.path);
  if (issue.code === 'unrecognized_keys') return `${field}: ${allowed(issue)}`;
  return `${field}: got ${show(at(root, issue.path))}; ${allowed(issue)}`;
}

/** Combinations of fields, each right by itself, that no run could honour. */
function combinations(experiment: Experiment): string[] {
  const { agent, environment, serving, world, arm, evaluation, epochs, pools, durability } = experiment;
  const problems: string[] = [];
  const trained = agent.training !== null || environment.training !== null;
  if (serving.type === 'openai' && trained) {
    if (!serving.returnsTokenIds) problems.push('serving.returnsTokenIds: got false; a trained policy needs a server that returns token ids (set agent.training and environment.training to null to keep both frozen)');
    if (serving.publish === 'none') problems.push('serving.publish: got "none"; a trained policy needs "vllm-lora" or "vllm-reload"');
  }
  if (serving.type === 'openai' && serving.publish === 'none' && serving.models === null) problems.push('serving.models: got null; with publish "none" the names of the served models are needed');
  if (serving.type === 'openai' && serving.publish === 'vllm-lora') {
    for (const [role, policy] of Object.entries({ agent, environment })) {
      if (policy.training !== null && !(policy.model.type === 'pretrained' && policy.model.adapter)) problems.push(`${role}.model.adapter: got null; publish "vllm-lora" serves LoRA adapters only`);
    }
  }
  if (arm.type === 'random' && environment.training !== null) problems.push('environment.training: the arm "random" keeps the simulator frozen; allowed: null');
  if (arm.type === 'genenv' && environment.training === null && agent.training === null) problems.push('agent.training: got null; the arm "genenv" trains the agent, the environment, or both');
  if (agent.training && agent.training.clipLow >= 1) problems.push(`agent.training.clipLow: got ${agent.training.clipLow}; expected below 1`);
  const groups = environment.promptsPerEpoch * environment.variationsPerPrompt;
  if (agent.training && agent.training.minInformativeGroups > groups) problems.push(`agent.training.minInformativeGroups: got ${agent.training.minInformativeGroups}; an epoch has only ${groups} new tasks`);
  if (agent.training && agent.training.stepsPerEpoch > groups) problems.push(`agent.training.stepsPerEpoch: got ${agent.training.stepsPerEpoch}; an epoch has only ${groups} new tasks, and a group is never split`);
  for (const [role, policy] of Object.entries({ agent, environment })) {
    if (policy.training && policy.training.schedule !== 'constant' && policy.training.scheduleSteps === null) problems.push(`${role}.training.scheduleSteps: got null; the schedule "${policy.training.schedule}" needs its number of steps`);
    if (policy.model.type === 'scratch') {
      const { hiddenSize, heads } = policy.model.architecture;
      if (hiddenSize % heads !== 0 || (hiddenSize / heads) % 2 !== 0) problems.push(`${role}.model.architecture.heads: got ${heads}; hiddenSize ${hiddenSize} must divide into heads of an even size`);
      if (policy.model.warmUp.rows < policy.model.warmUp.batch) problems.push(`${role}.model.warmUp.rows: got ${policy.model.warmUp.rows}; expected at least one batch (${policy.model.warmUp.batch})`);
    }
  }
  for (const field of ['baseLengths', 'heldOutLengths'] as const) {
    const [from, to] = world[field];
    if (from > to) problems.push(`world.${field}: got [${from}, ${to}]; expected the shorter length first`);
    if (to > world.maxLength) problems.push(`world.${field}: got [${from}, ${to}]; expected at most maxLength (${world.maxLength})`);
  }
  if (agent.sampling.maxTokens < world.maxLength + 4) problems.push(`agent.sampling.maxTokens: got ${agent.sampling.maxTokens}; the longest call needs ${world.maxLength + 4}`);
  if (environment.sampling.maxTokens < world.maxLength + 3) problems.push(`environment.sampling.maxTokens: got ${environment.sampling.maxTokens}; the longest task needs ${world.maxLength + 3}`);
  if (pools.train.mix.base + pools.train.mix.history > 0 && pools.train.mix.new === 0) problems.push('pools.train.mix.new: got 0; expected more than 0');
  if (evaluation.every > epochs) problems.push(`evaluation.every: got ${evaluation.every}; expected at most epochs (${epochs})`);
  if (durability.requestTimeoutSeconds > durability.heartbeatSeconds) problems.push(`durability.heartbeatSeconds: got ${durability.heartbeatSeconds}; expected at least requestTimeoutSeconds (${durability.requestTimeoutSeconds}), since a request beats when it is answered`);
  return problems;
}

/**
 * The experiment as it will run: presets and defaults written out, every field checked.
 * @throws InvalidConfig naming every wrong field, what it holds and what is allowed.
 */
export function parseExperiment(raw: unknown): Experiment {
  if (raw === undefined || raw === null) throw new InvalidConfig('experiment: no input was given; expected the content of an experiment file (`--input-file experiments/laptop.json`)');
  if (!isObject(raw)) throw new InvalidConfig(`experiment: got ${show(raw)}; expected an object, the content of an experiment file`);
  const arm = isObject(raw.arm) ? raw.arm : {};
  const preset = arm.type === 'genenv' && (arm.preset === 'paper' || arm.preset === 'tuned') ? arm.preset : 'tuned';
  const defaults = arm.type === 'random' ? merge(presets.tuned, { environment: { training: null } }) : presets[preset];
  const merged = merge(defaults, raw);
  const parsed = experimentSchema.safeParse(merged);
  const problems = parsed.success ? combinations(parsed.data) : parsed.error.issues.map((issue) => describe(issue, merged));
  if (problems.length > 0) throw new InvalidConfig(`experiment: ${problems.join('\nexperiment: ')}`);
  const experiment = { ...parsed.data! };
  delete experiment.$schema;
  return experiment;
}

/** JSON Schema of the file as people write it (presets may supply what is required here, so nothing but the top is). */
export function experimentJsonSchema(): object {
  return z.toJSONSchema(experimentSchema, { io: 'input', target: 'draft-7' });
}
