import { existsSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { engineFolder } from '../../../infra/setup/locations.mjs';
import { isStamped } from '../../../infra/setup/virtual-environment.mjs';
import { endpointsSource } from '../../config/endpoints.ts';
import type { Experiment } from '../../config/experiment.ts';
import { modelFolder } from '../../config/model-folder.ts';
import { servedName, servedRoles, serversApart } from '../../config/policy-servers.ts';
import { structuredOutput } from '../../curriculum/generate-candidates.ts';
import {
  adapterRank,
  combineVllm,
  managedVllm,
  vllmSettings,
  vllmText,
} from '../../dev-stack/vllm-settings.ts';
import { responseFormat } from '../../inference/completions-client.ts';
import { EndpointRefused, serverResolver } from '../../inference/endpoints.ts';
import type { PermittedServer } from '../../inference/endpoints.ts';
import { modelCardsSchema } from '../../inference/model-cards.ts';
import { InvalidAnswer, ServerProblem } from '../../inference/policy-client.ts';
import { createCaller, parseBody } from '../../inference/server-calls.ts';
import { promptTexts } from '../../runs/prompt-sizes.ts';
import type { World } from '../../worlds/world.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import { nearestExisting } from './environment-checks.ts';
import { estimateRun, roomOf, serverRoom } from './estimates.ts';
import type { RunEstimate } from './estimates.ts';
import type { LongestPrompt } from './server-questions.ts';
import { loadWorldAsWorker } from './load-world.ts';
import { externalTemporal } from './session.ts';
import { runningStack } from './stack.ts';
import { byteText, countText } from './text.ts';
import { checkSglang } from './sglang-checks.ts';
import { checkSlurm } from './slurm-checks.ts';
import { checkVllm } from './vllm-checks.ts';

/** Whether this machine and the model server have what an experiment needs. */
export async function checkExperiment(experiment: Experiment, context: CliContext): Promise<Check[]> {
  const world = await loadWorldAsWorker(context)(experiment.world);
  const estimate = await estimateRun(experiment, world);
  return [
    ...checkModels(experiment, context),
    checkDisk(estimate, context),
    ...checkLengths(experiment, estimate),
    ...checkEngine(experiment),
    ...(await checkLauncher(experiment, context)),
    ...(await checkServer(experiment, world, context)),
    ...(await checkServersApart(experiment, context)),
  ];
}

function checkModels(experiment: Experiment, { env }: CliContext): Check[] {
  const paths = (['agent', 'environment'] as const).flatMap((role) => {
    const { model } = experiment[role];
    return model.type === 'pretrained' && servedName(experiment, role) === null ? [model.path] : [];
  });
  return [...new Set(paths)].map((path) => {
    const what = `Model ${path}`;
    const folder = modelFolder(path);
    const hasFiles =
      existsSync(join(folder, 'config.json')) &&
      readdirSync(folder).some((name) => name.endsWith('.safetensors'));
    if (hasFiles) return ok(what, folder);
    if (path !== folder)
      return missing(
        what,
        `${folder} is not there`,
        `run \`npm run engines -- ${path.replace(/^engine:/, '')}\``,
      );
    const finding = existsSync(folder)
      ? `no config.json with safetensors in ${folder}`
      : `${folder} is not there`;
    return externalTemporal({}, env) === null
      ? missing(what, finding, 'put a Hugging Face folder there, or correct model.path')
      : note(what, `${finding}; the workers’ machines need it`);
  });
}

function checkDisk({ disk }: RunEstimate, { env }: CliContext): Check {
  const home = homeFolder(env);
  const { bavail, bsize } = statfsSync(nearestExisting(home));
  const free = bavail * bsize;
  const needed = disk.policies + disk.records + disk.working;
  const unknown = disk.unknown.length === 0 ? '' : `, and the policies of ${disk.unknown.join(', ')}`;
  return needed > free
    ? missing(
        'Disk for this run',
        `about ${byteText(needed)}${unknown}; ${byteText(free)} free in ${home}`,
        'set GENENV_HOME to a larger disk, or run `genenv gc` now and then while it runs',
      )
    : ok('Disk for this run', `about ${byteText(needed)}${unknown}; ${byteText(free)} free`);
}

function checkLengths(experiment: Experiment, { longest }: RunEstimate): Check[] {
  return (['environment', 'agent'] as const).map((role) => {
    const room = serverRoom(experiment, role);
    const what = `Longest ${role === 'agent' ? 'agent' : 'simulator'} prompt`;
    const limit = roomOf(experiment, role);
    const needed = `${countText(longest[role])} tokens with its answer`;
    if (limit === null) return note(what, needed);
    return longest[role] > limit
      ? missing(
          what,
          `${needed}; there is room for ${countText(limit)}`,
          room === undefined
            ? `lower ${role}.sampling.maxTokens, or take a model with more positions`
            : `raise serving.maxModelLen to ${longest[role]}, or lower ${role}.sampling.maxTokens`,
        )
      : ok(what, `${needed} of ${countText(limit)}`);
  });
}

async function checkLauncher({ trainer }: Experiment, { env }: CliContext): Promise<Check[]> {
  return trainer.launcher.type === 'slurm' ? [await checkSlurm(trainer.launcher, env)] : [];
}

function checkEngine(experiment: Experiment): Check[] {
  if (managedVllm(experiment) === null) return [];
  const folder = engineFolder('vllm');
  return isStamped(folder)
    ? [ok('Engine vLLM', folder)]
    : [
        missing(
          'Engine vLLM',
          `${folder} is not there`,
          'run `npm run engines -- vllm`, or name a server in serving.baseUrl',
        ),
      ];
}

/** The server of the policies: embedded, managed or outside. */
async function checkServer(experiment: Experiment, world: World, context: CliContext): Promise<Check[]> {
  const { serving } = experiment;
  const stack = runningStack(homeFolder(context.env));
  const addresses = stack?.addresses ?? null;
  const settings = vllmSettings(experiment);
  if (serving.type === 'embedded') {
    const url = addresses?.policyServer ?? null;
    return [
      url === null
        ? note('Policy server', 'not running; `genenv run` starts it')
        : await checkModelList(url, stack?.tokens?.policyServer, []),
    ];
  }
  const managed = managedVllm(experiment);
  if (managed !== null && !addresses?.vllm)
    return [note('vLLM', `not running; \`genenv run\` starts it with ${vllmText(managed)}`)];
  if (
    managed !== null &&
    addresses?.vllm &&
    !isDeepStrictEqual(combineVllm(addresses.vllm.settings, managed), addresses.vllm.settings)
  )
    return [
      missing(
        'vLLM',
        `runs with ${vllmText(addresses.vllm.settings)}; this file needs ${vllmText(managed)}`,
        'end the stack with `genenv down` and start it with this file',
      ),
    ];
  const servers = permittedServers(serving, context);
  if (!Array.isArray(servers)) return [servers];
  if (addresses?.vllm && managed !== null)
    servers.push({ baseUrl: addresses.vllm.url, apiKey: stack?.tokens?.vllm });
  const checks: Check[] = [];
  for (const { baseUrl: url, apiKey: key } of servers) {
    if (serving.type === 'sglang')
      checks.push(
        ...(await checkSglang(url, key, {
          rank: adapterRank(experiment),
          prompts: longestPrompts(experiment, world),
          structure: hasSimulator(experiment) ? structuredOutput(experiment, world) : {},
        })),
      );
    else if (settings === null)
      checks.push(
        await checkModelList(
          url,
          key,
          servedRoles(experiment).flatMap((role) => servedName(experiment, role) ?? []),
        ),
      );
    else
      checks.push(
        ...(await checkVllm(url, key, {
          settings,
          prompts: longestPrompts(experiment, world),
          structure: structureOf(experiment, world),
          store: storeFolder(context),
          isManaged: managed !== null,
        })),
      );
  }
  return checks;
}

/** The servers that the file names besides `serving`; each must know its model. */
async function checkServersApart(experiment: Experiment, context: CliContext): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { field, server } of serversApart(experiment)) {
    const servers = permittedServers(server, context);
    if (!Array.isArray(servers)) checks.push(servers);
    else
      for (const { baseUrl, apiKey } of servers)
        checks.push(await checkModelList(baseUrl, apiKey, [server.model], field));
  }
  return checks;
}

const hasSimulator = (experiment: Experiment): boolean => servedRoles(experiment).includes('environment');

/** The longest prompt of each role by its bytes; the server counts its tokens. */
function longestPrompts(experiment: Experiment, world: World): LongestPrompt[] {
  const texts = promptTexts(experiment, world);
  const longestOf = (prompts: readonly string[]): string =>
    prompts.reduce((longest, prompt) => (prompt.length > longest.length ? prompt : longest), '');
  const simulator = longestOf([...texts.simulator, ...texts.repair]);
  return [
    ...(hasSimulator(experiment)
      ? [{ role: 'simulator', text: simulator, maxTokens: experiment.environment.sampling.maxTokens }]
      : []),
    { role: 'agent', text: longestOf(texts.agent), maxTokens: experiment.agent.sampling.maxTokens },
  ];
}

function structureOf(experiment: Experiment, world: World): object | undefined {
  if (!hasSimulator(experiment)) return undefined;
  const { schema, grammar } = structuredOutput(experiment, world);
  if (grammar !== undefined) return { structured_outputs: { grammar } };
  return schema === undefined ? undefined : responseFormat(schema);
}

/** Undefined if there is none yet. */
function storeFolder({ env }: CliContext): string | undefined {
  const store = env.GENENV_STORE ?? join(homeFolder(env), 'store');
  return existsSync(store) ? store : undefined;
}

/** The servers that the file names, as the workers of this home may speak to them. */
function permittedServers(
  { baseUrl, apiKeyEnv }: { baseUrl?: string | string[] | undefined; apiKeyEnv?: string | null | undefined },
  { env }: CliContext,
): PermittedServer[] | Check {
  if (baseUrl === undefined) return [];
  try {
    const resolve = serverResolver(endpointsSource(env.GENENV_ENDPOINTS, homeFolder(env)), env);
    return resolve({ baseUrl, apiKeyEnv: apiKeyEnv ?? null });
  } catch (error) {
    if (error instanceof EndpointRefused)
      return missing('Endpoint', error.message, 'add it to the list of whoever runs the workers');
    if (error instanceof InvalidConfig) return missing('Endpoint', error.message, 'correct it');
    throw error;
  }
}

/** A server that is only asked: it must know the models that the file names. @param field its settings */
async function checkModelList(
  url: string,
  key: string | undefined,
  names: readonly string[],
  field = 'serving',
): Promise<Check> {
  const call = createCaller({ baseUrl: url, apiKey: key, timeoutMs: 10_000 });
  try {
    const { status, text } = await call('/models', undefined);
    if (status !== 200) return missing('Model server', `${url} answered ${status}`, 'check address and key');
    const { data } = parseBody(modelCardsSchema, text, `models of ${url}`);
    const absent = names.filter((name) => !data.some(({ id }) => id === name));
    return absent.length === 0
      ? ok('Model server', url)
      : missing(
          'Model server',
          `${url} does not serve ${absent.join(', ')}`,
          `correct ${field}.${field === 'serving' ? 'models' : 'model'}`,
        );
  } catch (error) {
    if (!(error instanceof ServerProblem || error instanceof InvalidAnswer)) throw error;
    const finding = error instanceof ServerProblem ? error.reason : error.message;
    return missing('Model server', `${url}: ${finding}`, `start it, or correct ${field}.baseUrl`);
  }
}
