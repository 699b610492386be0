import { join } from 'node:path';
import { z } from 'zod';
import type { KeepAlive } from '../async/keep-alive.ts';
import { modelFolder, readModelPositions } from '../config/model-folder.ts';
import { outsideAddresses } from '../config/serving.ts';
import type { ServingSettings, VllmServing } from '../config/serving.ts';
import type { AdapterServer } from '../inference/adapter-server.ts';
import { createChatClient } from '../inference/chat-client.ts';
import type { ChatClient } from '../inference/chat-client.ts';
import { createChatPolicyClient } from '../inference/chat-policy-client.ts';
import { createAdapterServer } from '../inference/create-adapter-server.ts';
import { createPolicyClient, isChatServing } from '../inference/create-policy-client.ts';
import { createEmbeddingClient } from '../inference/embedding-client.ts';
import type { EmbeddingClient } from '../inference/embedding-client.ts';
import { readOperatorSetting } from '../inference/endpoints.ts';
import type { PermittedServer, ResolveServers } from '../inference/endpoints.ts';
import type { ModelClients } from '../inference/model-clients.ts';
import { askBaseModel } from '../inference/model-cards.ts';
import { shortReason } from '../inference/outage-reason.ts';
import { InvalidAnswer, ModelUnavailable, RequestRefused } from '../inference/policy-client.ts';
import type { LogprobsRequest, PolicyClient } from '../inference/policy-client.ts';
import { RATE_LIMIT_WAIT_MS, waitOutRateLimit } from '../inference/rate-limit.ts';
import {
  callOneServer,
  completeOnServers,
  createServerLoad,
  smallestLength,
} from '../inference/server-pool.ts';
import type { ServerLoad } from '../inference/server-pool.ts';
import { createSglangChatClient } from '../inference/sglang-client.ts';
import { createCaller } from '../inference/server-calls.ts';
import { InvalidArtifact } from '../store/errors.ts';
import { readJsonFile } from '../store/json-files.ts';
import { listFiles } from '../store/object-integrity.ts';
import { requirePlainFolder } from '../store/plain-files.ts';
import { meterClients } from '../telemetry/model-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { WorkerSettings } from './settings.ts';

type Serving = ServingSettings | { baseUrl: string; apiKeyEnv: string | null };

/** The token that one of this worker's own servers asks for. @throws InvalidConfig */
export type TokenOf = (variable: 'GENENV_POLICY_TOKEN' | 'GENENV_VLLM_TOKEN') => string | undefined;

export interface ClientOptions {
  metrics?: Metrics | undefined;
  tokenOf?: TokenOf;
}

/** Limit of the time that servers take to load new weights. */
const maxLoadMs = 10 * 60_000;

/** The clients of model servers: those of a file that the operator permits, and those of this worker. */
export function createModelClients(
  { policyServer, vllmServer }: Pick<WorkerSettings, 'policyServer' | 'vllmServer'>,
  resolveServers: ResolveServers,
  send: KeepAlive,
  { metrics, tokenOf = () => undefined }: ClientOptions = {},
): ModelClients {
  const loads = new Map<string, ServerLoad>();
  /** A client for each address of the serving settings. */
  const serversOf = <Client>(serving: Serving, create: (server: PermittedServer) => Client) =>
    permittedServers(serving).map((server) => {
      const load = loads.get(server.baseUrl) ?? createServerLoad();
      loads.set(server.baseUrl, load);
      return { client: create(server), load };
    });
  const ownServer = (baseUrl: string, variable: Parameters<TokenOf>[0]): PermittedServer[] => [
    { baseUrl, apiKey: readOperatorSetting(variable, () => tokenOf(variable)) },
  ];
  const permittedServers = (serving: Serving): PermittedServer[] => {
    if ('type' in serving && serving.type === 'embedded')
      return ownServer(policyServer, 'GENENV_POLICY_TOKEN');
    const { baseUrl, apiKeyEnv = null } = serving;
    if (baseUrl !== undefined) return resolveServers({ baseUrl, apiKeyEnv });
    if (vllmServer !== undefined) return ownServer(vllmServer, 'GENENV_VLLM_TOKEN');
    throw new ModelUnavailable(
      'no vLLM runs in the stack of this worker (serving.type "vllm" without baseUrl): `genenv run FILE` ' +
        'starts one, and so does `genenv up FILE` after `genenv down`',
      { server: 'the vLLM of the stack' },
    );
  };
  const chatClient: ModelClients['chatClient'] = (serving, timeoutMs) => {
    const servers = serversOf(serving, (server): ChatClient => {
      const isSglang = 'type' in serving && serving.type === 'sglang';
      const create = isSglang ? createSglangChatClient : createChatClient;
      const client = meterClients(metrics, server.baseUrl).chat(create({ ...server, timeoutMs }));
      return { answer: (...request) => send(timeoutMs, () => client.answer(...request)) };
    });
    return {
      answer: (request, signal) =>
        send(RATE_LIMIT_WAIT_MS, () =>
          waitOutRateLimit(
            () => callOneServer(servers, request.seed, (client) => client.answer(request, signal)),
            signal,
          ),
        ),
    };
  };
  return {
    policyClient: (serving, timeoutMs) => {
      if (isChatServing(serving)) return createChatPolicyClient(chatClient(serving, timeoutMs));
      const servers = serversOf(serving, (server): PolicyClient => {
        const client = meterClients(metrics, server.baseUrl).policy(
          createPolicyClient(serving, { ...server, timeoutMs }),
        );
        return {
          complete: (...request) => send(timeoutMs, () => client.complete(...request)),
          ...(client.completionLogprobs && {
            completionLogprobs: (request: LogprobsRequest, signal: AbortSignal) =>
              send(timeoutMs, () => client.completionLogprobs!(request, signal)),
          }),
          tokenize: (...text) => send(timeoutMs, () => client.tokenize(...text)),
          promptLength: (...prompt) => send(timeoutMs, () => client.promptLength(...prompt)),
          contextLength: (...model) => send(timeoutMs, () => client.contextLength(...model)),
        };
      });
      return {
        complete: (request, signal) => completeOnServers(servers, request, signal),
        ...(servers.every(({ client }) => 'completionLogprobs' in client) && {
          completionLogprobs: (request: LogprobsRequest, signal: AbortSignal) =>
            callOneServer(servers, request.prompts.length, (client) =>
              client.completionLogprobs!(request, signal),
            ),
        }),
        tokenize: (model, text, signal) =>
          callOneServer(servers, text.length, (client) => client.tokenize(model, text, signal)),
        promptLength: (model, prompt, signal) =>
          callOneServer(servers, prompt.length, (client) => client.promptLength(model, prompt, signal)),
        contextLength: (model, signal) => smallestLength(servers, model, signal),
      };
    },
    chatClient,
    embeddingClient: (serving, timeoutMs) => {
      const servers = serversOf(serving, (server): EmbeddingClient => {
        const client = meterClients(metrics, server.baseUrl).embedding(
          createEmbeddingClient({ ...server, timeoutMs }),
        );
        return { embed: (...request) => send(timeoutMs, () => client.embed(...request)) };
      });
      return {
        embed: (request, signal) =>
          callOneServer(servers, request.texts.length, (client) => client.embed(request, signal)),
      };
    },
    adapterServers: (serving) => {
      const isManaged = serving.type === 'vllm' && outsideAddresses(serving).length === 0;
      return permittedServers(serving).map((permitted): AdapterServer => {
        const server = meterClients(metrics, permitted.baseUrl).adapters(
          createAdapterServer(serving, { ...permitted, timeoutMs: maxLoadMs }),
        );
        return {
          address: server.address,
          load: (name, folder) =>
            send(maxLoadMs, () =>
              isManaged
                ? loadOnManaged(server, { ...permitted, serving }, name, folder)
                : server.load(name, folder),
            ),
          unload: (name) => send(maxLoadMs, () => server.unload(name)),
          likeliest: (...prompts) => send(maxLoadMs, () => server.likeliest(...prompts)),
          setAsleep: (isAsleep) => send(maxLoadMs, () => server.setAsleep(isAsleep)),
        };
      });
    },
  };
}

type ManagedServer = PermittedServer & { serving: VllmServing };

/**
 * @throws ModelUnavailable if the server was started for another run, InvalidArtifact for a link or a pipe in the
 * adapter's folder, which the server would open
 */
async function loadOnManaged(
  server: AdapterServer,
  managed: ManagedServer,
  name: string,
  folder: string,
): Promise<void> {
  await requirePlainFolder(folder);
  await listFiles(folder);
  await requireSameModel(managed, folder);
  try {
    await server.load(name, folder);
  } catch (error) {
    const isNarrow = error instanceof RequestRefused && error.message.includes('max_lora_rank');
    throw isNarrow ? otherServer(error.message) : error;
  }
}

/**
 * Refuses the managed server if it was started for something else: a run that was interrupted may meet the
 * server of another run, and equal shapes would hide the mistake. Only of the model that the server has are the
 * settings read: an adapter can name any folder.
 * @throws ModelUnavailable, InvalidArtifact for settings that cannot be read
 */
async function requireSameModel({ baseUrl, apiKey, serving }: ManagedServer, adapter: string): Promise<void> {
  const wanted = modelFolder(await baseOf(adapter));
  const call = createCaller({ baseUrl, apiKey, timeoutMs: maxLoadMs });
  const base = await askBaseModel(baseUrl, call).catch((cause: unknown) => {
    if (!(cause instanceof InvalidAnswer)) throw cause;
    throw new ModelUnavailable(cause.message, { cause, server: baseUrl, reason: shortReason(cause.message) });
  });
  if (base.root !== wanted)
    throw otherServer(`it serves ${base.root ?? 'no folder'}, and the adapter is over ${wanted}`);
  const length = serving.maxModelLen ?? (await readModelPositions(wanted));
  // A server with more room serves a run as well: an evaluation asks for more than the run's own file.
  if (length !== null && (base.max_model_len ?? 0) < length)
    throw otherServer(`it takes ${base.max_model_len ?? '?'} tokens, and this run's file says ${length}`);
}

/** The model that an adapter is over. @throws InvalidArtifact */
async function baseOf(adapter: string): Promise<string> {
  const file = join(adapter, 'adapter_config.json');
  const settings = await readJsonFile<z.infer<typeof adapterSchema>>(file, REMEDY, adapterSchema);
  if (settings === undefined) throw new InvalidArtifact(file, 'missing');
  return settings.base_model_name_or_path;
}

const adapterSchema = z.object({ base_model_name_or_path: z.string() });
const REMEDY = 'Run `genenv verify` to see all that is damaged.';

const otherServer = (reason: string): ModelUnavailable =>
  new ModelUnavailable(
    `the vLLM of this stack was started for another run: ${reason}. This run continues when the stack is ` +
      'started for it: `genenv down`, then `genenv resume` with its id',
    { server: 'the vLLM of the stack' },
  );
