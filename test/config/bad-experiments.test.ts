import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { refusalOf } from '../../test-support/refusals.ts';

const topLevel =
  '$schema, name, seed, epochs, arm, world, environment, agent, difficulty, filter, pools, guards, history, evaluation, serving, trainer, durability, startFrom, maxTokens';
const openai = {
  type: 'openai',
  baseUrl: 'http://127.0.0.1:8000/v1',
  publish: 'vllm-lora',
  returnsTokenIds: true,
};
const frozen = {
  ...openai,
  publish: 'none',
  returnsTokenIds: false,
  models: { agent: 'a', environment: 'e' },
};
const exampleModel = (exampleFile.agent as { model: unknown }).model;
const adapted = { type: 'pretrained', path: '/models/small', adapter: {} };

/** A server of the simulator's own, and what the file says of its model. */
const apart = { type: 'openai', baseUrl: 'http://127.0.0.1:8001/v1', model: 'writer' };
const served = { type: 'pretrained', path: 'writer' };

const pretrained = { 'agent.model': adapted, 'environment.model': adapted };

/** What is no experiment file at all, and the message. */
const inputs: [string, unknown, string][] = [
  [
    'no input',
    undefined,
    'experiment: no input was given; expected the content of an experiment file (`--input-file experiments/laptop.json`)',
  ],
  [
    'null',
    null,
    'experiment: no input was given; expected the content of an experiment file (`--input-file experiments/laptop.json`)',
  ],
  ['a number', 42, 'experiment: got 42; expected an object, the content of an experiment file'],
  [
    'text',
    'experiments/laptop.json',
    'experiment: got "experiments/laptop.json"; expected an object, the content of an experiment file',
  ],
  ['true', true, 'experiment: got true; expected an object, the content of an experiment file'],
  [
    'a list',
    [exampleFile.name],
    'experiment: got ["example"]; expected an object, the content of an experiment file',
  ],
  [
    'an empty object',
    {},
    [
      'experiment: name: missing; expected text',
      'experiment: seed: missing; expected a whole number of at least 0',
      'experiment: epochs: missing; expected a whole number from 1 to 100,000',
      'experiment: arm: missing; expected an object whose "type" is "genenv" or "random" or "static" or "offline" or "selection" or "best-of-n" or "evolved" or "window" or "uniform" or "oracle" or "success-bin"',
      'experiment: world: missing; expected an object whose "type" is "toolbox" or "chainops" or "minidesk" or "language" or "calls" or "travel" or "programs" or "services" or "alfworld" or "search" or "external"',
      'experiment: environment.model: missing; expected an object whose "type" is "scratch" or "pretrained"',
      'experiment: environment.sampling: missing; expected an object',
      'experiment: environment.promptsPerEpoch: missing; expected a whole number from 1 to 100,000',
      'experiment: agent.model: missing; expected an object whose "type" is "scratch" or "pretrained"',
      'experiment: agent.sampling: missing; expected an object',
    ].join('\n'),
  ],
];

/** Fields set in the example, and the message, without its `experiment: `. */
const files: [string, Record<string, unknown>, string][] = [
  ['an unknown field, nearly a known one', { epohcs: 3 }, 'epohcs: unknown field; did you mean "epochs"?'],
  [
    'an unknown field in another case',
    { 'agent.training.learningrate': 1e-4 },
    'agent.training.learningrate: unknown field; did you mean "learningRate"?',
  ],
  ['an unknown field like nothing known', { colour: 'red' }, `colour: unknown field; allowed: ${topLevel}`],
  [
    'an unknown field in a variant',
    { filter: { type: 'off', kMin: 0.1 } },
    'filter.kMin: unknown field; allowed: type',
  ],
  [
    'an unknown field far down',
    { 'agent.model.architecture.hiddenSiz': 3 },
    'agent.model.architecture.hiddenSiz: unknown field; did you mean "hiddenSize"?',
  ],
  [
    'two unknown fields',
    { agents: {}, worlds: {} },
    'agents: unknown field; did you mean "agent"?\nexperiment: worlds: unknown field; did you mean "world"?',
  ],
  [
    'a name with a space',
    { name: 'my run' },
    'name: got "my run"; expected 1 to 80 letters, digits, dots, dashes or underscores',
  ],
  [
    'an empty name',
    { name: '' },
    'name: got ""; expected 1 to 80 letters, digits, dots, dashes or underscores',
  ],
  ['a name that is a number', { name: 7 }, 'name: got 7; expected text'],
  ['text for a number', { seed: '0' }, 'seed: got "0"; expected a whole number of at least 0'],
  ['a negative seed', { seed: -1 }, 'seed: got -1; expected a whole number of at least 0'],
  [
    'a seed that no number holds',
    { seed: 1e300 },
    'seed: got 1e+300; expected a whole number of at most 9007199254740991',
  ],
  ['no epochs', { epochs: undefined }, 'epochs: missing; expected a whole number from 1 to 100,000'],
  ['zero epochs', { epochs: 0 }, 'epochs: got 0; expected a whole number from 1 to 100,000'],
  ['half an epoch', { epochs: 1.5 }, 'epochs: got 1.5; expected a whole number from 1 to 100,000'],
  [
    'an empty arm',
    { arm: {} },
    'arm.type: missing; allowed: "genenv", "random", "static", "offline", "selection", "best-of-n", "evolved", "window", "uniform", "oracle", "success-bin"',
  ],
  [
    'an arm that is a text',
    { arm: 'genenv' },
    'arm: got "genenv"; expected an object whose "type" is "genenv" or "random" or "static" or "offline" or "selection" or "best-of-n" or "evolved" or "window" or "uniform" or "oracle" or "success-bin"',
  ],
  [
    'an unknown arm',
    { arm: { type: 'genen' } },
    'arm.type: got "genen"; allowed: "genenv", "random", "static", "offline", "selection", "best-of-n", "evolved", "window", "uniform", "oracle", "success-bin"',
  ],
  ['an arm without a preset', { arm: { type: 'genenv' } }, 'arm.preset: missing; allowed: "paper", "tuned"'],
  ['an unknown preset', { 'arm.preset': 'best' }, 'arm.preset: got "best"; allowed: "paper", "tuned"'],
  [
    'a preset for an arm without one',
    { arm: { type: 'random', preset: 'tuned' } },
    'arm.preset: unknown field; allowed: type',
  ],
  [
    'a data set without a source',
    { arm: { type: 'offline' } },
    'arm.source: missing; expected an object whose "type" is "model" or "file" or "code"',
  ],
  [
    'a source that is no server',
    { arm: { type: 'offline', source: { type: 'model', baseUrl: 'gemini', model: 'm' } } },
    'arm.source.baseUrl: got "gemini"; expected a URL such as "http://127.0.0.1:8000/v1"',
  ],
  [
    'a hash that is none',
    { arm: { type: 'offline', source: { type: 'file', path: 'tasks.jsonl', sha256: 'abc' } } },
    'arm.source.sha256: got "abc"; expected 64 lowercase hexadecimal digits',
  ],
  [
    'no variations',
    { arm: { type: 'static', variations: 0 } },
    'arm.variations: got 0; expected a whole number from 1 to 1,000,000',
  ],
  [
    'a selection of all',
    { arm: { type: 'selection', candidates: 1 } },
    'arm.candidates: got 1; expected a whole number from 2 to 1,000,000',
  ],
  [
    'a level that never opens',
    { arm: { type: 'window', raiseAt: 1.1 } },
    'arm.raiseAt: got 1.1; expected a number above 0 and at most 1',
  ],
  [
    'a hand-set curriculum whose simulator is trained',
    { arm: { type: 'window' }, 'environment.training': { lambda: 1 } },
    'environment.training: got settings; the arm "window" keeps the simulator frozen, leave the field out or set it to null',
  ],
  [
    'a success rate above 1',
    { arm: { type: 'success-bin', target: 50 } },
    'arm.target: got 50; expected a number from 0 to 1 or null',
  ],
  [
    'more chosen tasks than candidates',
    { arm: { type: 'success-bin', target: 0.5, tasks: 300 } },
    'arm.tasks: got 300; expected at most arm.candidates (256), of which they are chosen',
  ],
  [
    'candidates that take years to measure',
    { arm: { type: 'success-bin', target: 0.5, candidates: 1000000 } },
    'arm.attempts: got 16; with 1000000 candidates (arm.candidates) expected at most 5',
  ],
  [
    'a data set that nobody learns from',
    { arm: { type: 'static' }, 'agent.training': null },
    'agent.training: got null; the arm "static" trains the agent alone, and this leaves nothing to train',
  ],
  [
    'an unknown world',
    { 'world.type': 'chess' },
    'world.type: got "chess"; allowed: "toolbox", "chainops", "minidesk", "language", "calls", "travel", "programs", "services", "alfworld", "search", "external"',
  ],
  [
    'more tools than there are letters',
    { 'world.tools': 13 },
    'world.tools: got 13; expected a whole number from 1 to 12',
  ],
  [
    'a chance above 1',
    { 'world.warmUp.symbolAccuracy': 1.2 },
    'world.warmUp.symbolAccuracy: got 1.2; expected a number from 0 to 1',
  ],
  [
    'one length for two',
    { 'world.baseLengths': [13] },
    'world.baseLengths: got [13]; expected a list of 2, each a whole number from 1 to 1,000',
  ],
  [
    'a wrong entry in a list',
    { 'world.baseLengths': [13, '16'] },
    'world.baseLengths[1]: got "16"; expected a whole number from 1 to 1,000',
  ],
  [
    'lengths in the wrong order',
    { 'world.baseLengths': [16, 13] },
    'world.baseLengths: got [16, 13]; expected the shorter length first',
  ],
  [
    'base tasks beyond the world',
    { 'world.baseLengths': [13, 25] },
    'world.baseLengths: got [13, 25]; expected at most maxLength (24)',
  ],
  [
    'held-out tasks beyond the world',
    { 'world.heldOutLengths': [1, 30] },
    'world.heldOutLengths: got [1, 30]; expected at most maxLength (24)',
  ],
  ['an agent that is null', { agent: null }, 'agent: got null; expected an object'],
  [
    'a policy without a model',
    { 'environment.model': undefined },
    'environment.model: missing; expected an object whose "type" is "scratch" or "pretrained"',
  ],
  [
    'a pretrained model without a path',
    { 'agent.model': { type: 'pretrained', path: '' } },
    'agent.model.path: got ""; expected text that is not empty',
  ],
  [
    'an adapter for nothing',
    { 'agent.model': { ...adapted, adapter: { targetModules: [] } } },
    'agent.model.adapter.targetModules: got []; expected a list with at least 1 entry, each text',
  ],
  [
    'heads that do not divide',
    { 'agent.model.architecture.heads': 5 },
    'agent.model.architecture.heads: got 5; hiddenSize 64 must divide into heads of an even size',
  ],
  [
    'heads of an odd size',
    { 'environment.model.architecture.heads': 16 },
    'environment.model.architecture.heads: got 16; hiddenSize 48 must divide into heads of an even size',
  ],
  [
    'a warm-up of less than a batch',
    { 'agent.model.warmUp.rows': 50 },
    'agent.model.warmUp.rows: got 50; expected at least one batch (96)',
  ],
  [
    'answers too short for a call',
    { 'agent.sampling.maxTokens': 27 },
    'agent.sampling.maxTokens: got 27; the longest call needs 28',
  ],
  [
    'answers too short for a task',
    { 'environment.sampling.maxTokens': 20 },
    'environment.sampling.maxTokens: got 20; the longest task needs 27',
  ],
  [
    'answers too long for a model from scratch',
    { 'agent.sampling.maxTokens': 500 },
    'agent.sampling.maxTokens: got 500; expected at most 229, since a model from scratch has 256 positions and the longest prompt takes 27',
  ],
  [
    'a temperature of 0',
    { 'agent.sampling.temperature': 0 },
    'agent.sampling.temperature: got 0; expected a number above 0 and at most 1,000,000',
  ],
  [
    'a group of one',
    { 'agent.rolloutsPerTask': 1 },
    'agent.rolloutsPerTask: got 1; expected a whole number from 2 to 1,024',
  ],
  ['training that is a number', { 'agent.training': 5 }, 'agent.training: got 5; expected an object or null'],
  [
    'an unknown loss',
    { 'agent.training.lossType': 'ppo' },
    'agent.training.lossType: got "ppo"; allowed: "grpo", "dr_grpo", "dapo"',
  ],
  [
    'text for a yes or no',
    { 'agent.training.scaleByStd': 'yes' },
    'agent.training.scaleByStd: got "yes"; allowed: true, false',
  ],
  [
    'a cap of 0',
    { 'environment.training.maxKl': 0 },
    'environment.training.maxKl: got 0; expected a number above 0 and at most 1,000,000 or null',
  ],
  [
    'a decay of 1',
    { 'agent.training.betas': [0.9, 1] },
    'agent.training.betas[1]: got 1; expected a number of at least 0 and below 1',
  ],
  [
    'a clip of everything',
    { 'agent.training.clipLow': 1 },
    'agent.training.clipLow: got 1; expected a number above 0 and below 1',
  ],
  [
    'a schedule without an end',
    { 'agent.training.schedule': 'cosine' },
    'agent.training.scheduleSteps: got null; the schedule "cosine" needs its number of steps',
  ],
  [
    'more informative groups than tasks',
    { 'agent.training.minInformativeGroups': 33 },
    'agent.training.minInformativeGroups: got 33; an epoch has only 32 new tasks',
  ],
  [
    'more steps than groups',
    { 'agent.training.stepsPerEpoch': 40 },
    'agent.training.stepsPerEpoch: got 40; an epoch has only 32 new tasks, and a group is never split',
  ],
  [
    'nothing trained',
    { 'agent.training': null, 'environment.training': null },
    'agent.training: got null; the arm "genenv" trains the agent, the environment, or both',
  ],
  [
    'a random arm that trains its simulator',
    { arm: { type: 'random' }, 'environment.training': { lambda: 1 } },
    'environment.training: got settings; the arm "random" keeps the simulator frozen, leave the field out or set it to null',
  ],
  [
    'a band that is no share',
    { 'difficulty.alpha': 1.5 },
    'difficulty.alpha: got 1.5; expected a number from 0 to 1',
  ],
  [
    'a reward as sharp as 0',
    { 'difficulty.beta': 0 },
    'difficulty.beta: got 0; expected a number above 0 and at most 1,000,000',
  ],
  [
    'an unknown filter',
    { 'filter.type': 'best' },
    'filter.type: got "best"; allowed: "off", "threshold", "quantile", "topK"',
  ],
  [
    'a filter without its bound',
    { filter: { type: 'threshold' } },
    'filter.kMin: missing; expected a number from 0 to 1',
  ],
  [
    'a filter for nobody',
    { filter: { type: 'topK', k: 4, appliesTo: [] } },
    'filter.appliesTo: got []; expected a list with at least 1 entry, each one of "agent", "environment"',
  ],
  [
    'a filter for an unknown policy',
    { filter: { type: 'topK', k: 4, appliesTo: ['agent', 'critic'] } },
    'filter.appliesTo[1]: got "critic"; allowed: "agent", "environment"',
  ],
  [
    'a mix without new tasks',
    { 'pools.train.mix.new': 0 },
    'pools.train.mix.new: got 0; expected a number above 0 and at most 1,000,000',
  ],
  [
    'a window of 0',
    { 'pools.environment.window': 0 },
    'pools.environment.window: got 0; expected a whole number from 1 to 1,000,000 or null',
  ],
  [
    'a cap above 1',
    { 'guards.familyCap': 2 },
    'guards.familyCap: got 2; expected a number from 0 to 1 or null',
  ],
  [
    'a server that is no URL',
    { serving: { ...openai, baseUrl: 'localhost' } },
    'serving.baseUrl: got "localhost"; expected a URL such as "http://127.0.0.1:8000/v1"',
  ],
  [
    'a server that is no web server',
    { serving: { ...openai, baseUrl: 'file:///models' } },
    'serving.baseUrl: got "file:///models"; expected a URL such as "http://127.0.0.1:8000/v1"',
  ],
  [
    'trained policies on a server without token ids',
    { ...pretrained, serving: { ...openai, publish: 'vllm-lora', returnsTokenIds: false } },
    'serving.returnsTokenIds: got false; a trained policy needs a server that returns token ids (set agent.training and environment.training to null to keep both frozen)',
  ],
  [
    'trained policies that are never published',
    { serving: { ...openai, publish: 'none', models: { agent: 'a', environment: 'e' } } },
    'serving.publish: got "none"; a trained policy needs "vllm-lora"',
  ],
  [
    'LoRA serving without an adapter',
    { serving: openai, 'agent.model': adapted },
    'environment.model.adapter: got null; publish "vllm-lora" serves LoRA adapters only',
  ],
  [
    'a vLLM that is no URL',
    { ...pretrained, serving: { type: 'vllm', baseUrl: ['http://a/v1', 'b'] } },
    'serving.baseUrl[1]: got "b"; expected a URL such as "http://127.0.0.1:8000/v1"',
  ],
  [
    'a vLLM that is neither a URL nor a list',
    { ...pretrained, serving: { type: 'vllm', baseUrl: 8000 } },
    'serving.baseUrl: got 8000; expected a URL such as "http://127.0.0.1:8000/v1" or a list with at least 1 entry, each a URL such as "http://127.0.0.1:8000/v1"',
  ],
  [
    'a model from scratch on vLLM',
    { ...pretrained, 'environment.model': exampleModel, serving: { type: 'vllm' } },
    'environment.model.type: got "scratch"; expected "pretrained", since vLLM serves adapters over a model that it loads',
  ],
  [
    'full weights on vLLM',
    {
      ...pretrained,
      'agent.model': { type: 'pretrained', path: '/models/small' },
      serving: { type: 'vllm' },
    },
    'agent.model.adapter: got null; expected LoRA settings, also of a frozen policy, since vLLM serves adapters over one model',
  ],
  [
    'two base models on one vLLM',
    { ...pretrained, 'environment.model': { ...adapted, path: '/models/other' }, serving: { type: 'vllm' } },
    'environment.model.path: got "/models/other"; expected "/models/small", as the agent has, since one vLLM serves one model',
  ],
  [
    'a rank that vLLM does not have',
    { ...pretrained, 'agent.model': { ...adapted, adapter: { r: 1024 } }, serving: { type: 'vllm' } },
    'agent.model.adapter.r: got 1024; expected at most 512, the largest rank of vLLM',
  ],
  [
    'answers as long as a prompt with its answer',
    {
      ...pretrained,
      'environment.sampling.maxTokens': 30,
      'agent.sampling.maxTokens': 64,
      serving: { type: 'vllm', maxModelLen: 64 },
    },
    'agent.sampling.maxTokens: got 64; expected less than serving.maxModelLen (64), which holds a prompt with its answer',
  ],
  [
    'an SGLang without an address',
    { ...pretrained, serving: { type: 'sglang' } },
    'serving.baseUrl: missing; expected a URL such as "http://127.0.0.1:8000/v1" or a list with at least 1 entry, each a URL such as "http://127.0.0.1:8000/v1"',
  ],
  [
    'full weights on SGLang',
    {
      ...pretrained,
      'agent.model': { type: 'pretrained', path: '/models/small' },
      serving: { type: 'sglang', baseUrl: 'http://a:30000' },
    },
    'agent.model.adapter: got null; expected LoRA settings, also of a frozen policy, since SGLang serves adapters over one model',
  ],
  [
    'a model that set-up cannot install',
    { 'agent.model': { ...adapted, path: 'engine:gpt' } },
    'agent.model.path: got "engine:gpt"; allowed: a folder, or "engine:smollm2"',
  ],
  [
    'frozen policies without names',
    { arm: { type: 'random' }, 'agent.training': null, serving: { ...openai, publish: 'none' } },
    'serving.models: got null; with publish "none" the names of the served models are needed',
  ],
  [
    'chat completions that are published to',
    {
      serving: { ...openai, returnsTokenIds: false, api: 'chat' },
      arm: { type: 'random' },
      'agent.training': null,
    },
    'serving.publish: got "vllm-lora"; expected "none", since what is served behind chat completions (serving.api) stays as it is',
  ],
  [
    'chat completions with token ids',
    {
      serving: { ...frozen, returnsTokenIds: true, api: 'chat' },
      arm: { type: 'random' },
      'agent.training': null,
    },
    'serving.returnsTokenIds: got true; expected false, since chat completions (serving.api) give no token ids',
  ],
  [
    'a frame within the server’s own',
    {
      serving: { ...frozen, api: 'chat' },
      arm: { type: 'best-of-n' },
      'agent.training': null,
      world: { type: 'language', format: 'chatml' },
      ...pretrained,
    },
    'world.format: got "chatml"; expected "plain", since chat completions (serving.api) apply the model’s own template',
  ],
  [
    'an unknown endpoint',
    { serving: { ...openai, api: 'responses' } },
    'serving.api: got "responses"; allowed: "completions", "chat"',
  ],
  [
    'a model that cannot read',
    { world: { type: 'language' }, ...pretrained, 'agent.model': exampleModel },
    'agent.model.type: got "scratch"; the world "language" is in natural language, which takes a model that knows it: "pretrained"',
  ],
  [
    'a warm-up where there is no corpus',
    {
      world: { type: 'language' },
      ...pretrained,
      'agent.model': { ...adapted, warmUp: { rows: 640, batch: 64, learningRate: 0.001 } },
    },
    'agent.model.warmUp: got 640 rows; the world "language" has no corpus to warm this model up on: leave warmUp out',
  ],
  [
    'a cold start of less than a batch',
    { 'agent.model': { ...adapted, warmUp: { rows: 50, batch: 64, learningRate: 0.001 } } },
    'agent.model.warmUp.rows: got 50; expected at least one batch (64)',
  ],
  [
    'sleep of a vLLM that is started without it',
    { ...pretrained, serving: { type: 'vllm', sleepWhileTraining: true } },
    'serving.sleepWhileTraining: got true; the embedded stack starts vLLM without its sleep mode: start one yourself and give serving.baseUrl',
  ],
  [
    'several processes of a launcher that starts one',
    { 'trainer.processes': 2 },
    'trainer.processes: got 2; expected 1, since trainer.launcher "resident" starts one process',
  ],
  [
    'weights in parts in one process',
    { 'trainer.sharding': 'full' },
    'trainer.sharding: got "full"; one process has all weights: set trainer.processes, or leave sharding out',
  ],
  [
    'an adapter in parts',
    { 'agent.model': adapted, 'trainer.sharding': 'full' },
    'trainer.sharding: got "full"; expected "none", since agent.model.adapter trains no full weights',
  ],
  [
    'pass@16 of one attempt',
    { 'evaluation.passAtK': 16 },
    'evaluation.samples: got 1; pass@16 (evaluation.passAtK) takes at least 16 attempts at each held-out task',
  ],
  [
    'pass@16 of greedy attempts',
    { evaluation: { passAtK: 16, samples: 16, temperature: 0 } },
    'evaluation.temperature: got 0; greedy attempts are all alike, so pass@k (evaluation.passAtK) needs a temperature above 0',
  ],
  [
    'requests that the policy server would refuse',
    { 'durability.promptsPerRequest': 600, 'agent.rolloutsPerTask': 8, 'evaluation.samples': 2 },
    'durability.promptsPerRequest: got 600; expected at most 512, since each prompt is answered 8 times (agent.rolloutsPerTask) and the policy server gives 4096 answers to a request',
  ],
  [
    'more shards in all rounds than the history of an epoch holds',
    {
      'durability.shards': 128,
      'agent.training.dropZeroVariance': true,
      'agent.training.dynamicSampling': { informativeGroups: 4, maxRounds: 64 },
    },
    'durability.shards: got 128; with 64 rounds (agent.training.dynamicSampling.maxRounds), expected at most 50',
  ],
  [
    'benchmarks for an agent that cannot read',
    { 'evaluation.benchmarks': { suites: ['bamboogle_closedbook'] } },
    'evaluation.benchmarks: got suites to evaluate on; an agent made from scratch knows the characters of its world alone: expected none, or agent.model.type "pretrained"',
  ],
  [
    'a band upside down',
    { world: { type: 'language', band: [0.6, 0.4] }, ...pretrained },
    'world.band: got [0.6, 0.4]; expected the lower end first',
  ],
  [
    'base programs beyond the world',
    { world: { type: 'language', maxCalls: 4 }, ...pretrained },
    'world.baseCalls: got [2, 5]; expected at most maxCalls (4)\nexperiment: world.heldOutCalls: got [1, 6]; expected at most maxCalls (4)',
  ],
  [
    'the best of one',
    { arm: { type: 'best-of-n', candidates: 1 } },
    'arm.candidates: got 1; expected a whole number from 2 to 1,000,000',
  ],
  [
    'a simulator of best-of-n that is trained',
    { arm: { type: 'best-of-n' }, 'environment.training': { lambda: 1 } },
    'environment.training: got settings; the arm "best-of-n" keeps the simulator frozen, leave the field out or set it to null',
  ],
  [
    'a trained simulator on a server of its own',
    { 'environment.serving': apart, 'environment.model': served },
    'environment.training: got settings; the model behind environment.serving is frozen: set the field to null, or take the arm "best-of-n"',
  ],
  [
    'weights for a simulator on a server of its own',
    { arm: { type: 'random' }, 'environment.serving': apart, 'environment.model': adapted },
    'environment.model: got weights to make; expected {"type": "pretrained", "path": …} without adapter and warmUp, since environment.serving has the weights: the path is a name for reports',
  ],
  [
    'two servers with models of one name',
    {
      arm: { type: 'random' },
      'agent.training': null,
      serving: frozen,
      'environment.serving': { ...apart, model: frozen.models.agent },
      'environment.model': served,
    },
    `environment.serving.model: got "${frozen.models.agent}"; expected a name that no other model of the run has, since requests go by it`,
  ],
  [
    'a simulator that votes on its own labels',
    {
      arm: { type: 'random' },
      world: { type: 'language', vote: { solver: apart } },
      ...pretrained,
      'environment.serving': apart,
      'environment.model': served,
    },
    'world.vote.solver.model: got "writer"; expected a name that no other model of the run has, since requests go by it',
  ],
  [
    'a model of embeddings that has nothing to compare',
    {
      world: {
        type: 'language',
        kinds: ['execution', 'exact'],
        similarity: { type: 'openai', baseUrl: 'http://127.0.0.1:1/v1', model: 'encoder', solvedFrom: 0.9 },
      },
      ...pretrained,
    },
    'world.similarity: got settings with kinds ["execution","exact"]; expected the kind "reference" among them, ' +
      'whose answers alone are compared so',
  ],
  [
    'a frame that the simulator’s own server would put into its own',
    {
      arm: { type: 'random' },
      world: { type: 'language', format: 'chatml' },
      ...pretrained,
      'environment.serving': { ...apart, api: 'chat' },
      'environment.model': served,
    },
    'world.simulatorFormat: got "chatml"; expected "plain", since chat completions (environment.serving.api) apply the model’s own template',
  ],
  [
    'a partition that is an option of a command',
    { 'trainer.launcher': { type: 'slurm', partition: '--wrap=id' } },
    'trainer.launcher.partition: got "--wrap=id"; expected letters, digits, "_", "." and "-", 64 at most',
  ],
  [
    'an unknown launcher',
    { 'trainer.launcher': { type: 'condor' } },
    'trainer.launcher.type: got "condor"; allowed: "resident", "process", "ray", "kubernetes", "torchrun", "slurm"',
  ],
  [
    'an unknown device',
    { 'trainer.device': 'tpu' },
    'trainer.device: got "tpu"; allowed: "auto", "cpu", "cuda"',
  ],
  [
    'more shards than history has room for',
    { 'durability.shards': 129 },
    'durability.shards: got 129; expected a whole number from 1 to 128',
  ],
  [
    'a token cap of 0',
    { maxTokens: 0 },
    'maxTokens: got 0; expected a whole number from 1 to 1,000,000,000,000,000 or null',
  ],
  [
    'a very long value',
    { name: 'x'.repeat(200) },
    `name: got "${'x'.repeat(116)}...; expected 1 to 80 letters, digits, dots, dashes or underscores`,
  ],
];

const messageOf = (raw: unknown): string => refusalOf(parseExperiment, raw);

describe('a bad experiment file is refused with', () => {
  it.each(inputs)('%s: what was expected', (_, raw, message) => {
    expect(messageOf(raw)).toBe(message);
  });

  it.each(files)('%s: field, value and what is allowed', (_, fields, message) => {
    expect(messageOf(withFields(exampleFile, fields))).toBe(`experiment: ${message}`);
  });

  it('all that is wrong at once', () => {
    expect(messageOf(withFields(exampleFile, { seed: -1, 'world.tools': 0 })).split('\n')).toHaveLength(2);
  });

  it('no word of the schema library', () => {
    for (const [, fields] of files)
      expect(messageOf(withFields(exampleFile, fields))).not.toMatch(
        /invalid input|too (small|big)|received|undefined|discriminator/i,
      );
  });
});

it('knows how many answers the policy server gives to a request', () => {
  const limits = join(repository, 'trainer/genenv_trainer/serving/limits.py');
  expect(readFileSync(limits, 'utf8')).toContain('\nMAX_ROWS = 4096\n');
});
