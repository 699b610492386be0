/** Requests to model servers: how prompts are cut into them, and the journaled clients that send them. */
import type { ChatAnswer, ChatClient, ChatRequest } from '../inference/chat-client.ts';
import type { ModelClients } from '../inference/model-clients.ts';
import { hasRoomFor, PROMPT_TOO_LONG, promptTokens } from '../inference/policy-client.ts';
import type { Completion, CompletionRequest, LogprobsRequest } from '../inference/policy-client.ts';
import { ensurePolicyServed, resendIfPolicyMissing } from '../inference/publish.ts';
import { wakeServers } from '../inference/sleeping-servers.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { ServerTokens } from '../types/activity-types.ts';
import type { PolicyVersion, RunState } from '../types/run-state.ts';
import type { Sampled } from '../types/records.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { compareTexts } from './answer-similarity.ts';
import type { Compared, TextComparer } from './answer-similarity.ts';
import { JournaledClient } from './journaled-client.ts';
import type { SamplingUsage } from './journaled-client.ts';
import { createModelRoutes } from './model-routes.ts';
import type { ResponseJournal } from './response-journal.ts';

/** What a phase needs to send requests to models. */
export type ModelDependencies = PhaseStorage & HasActivityContext & ModelClients;

/** A request, and what its prompts stand for. */
export interface PlannedRequest<Item> {
  request: CompletionRequest;
  items: Item[];
}

/** Cuts prompts into requests: the unit of batching, storage and retry. */
export function batchPrompts<Item>(
  items: readonly Item[],
  size: number,
  createRequest: (chunk: Item[], index: number) => CompletionRequest,
): PlannedRequest<Item>[] {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
  return chunks.map((chunk, index) => ({ request: createRequest(chunk, index), items: chunk }));
}

/** The requests of one shard: every `shards`-th. */
export const selectShard = <T>(planned: readonly T[], shard: number, shards: number): T[] =>
  planned.filter((_, index) => index % shards === shard);

/** The policies that an epoch may send requests to. */
export const epochPolicies = ({
  agent,
  environment,
  initial_agent,
  initial_environment,
}: RunState): PolicyVersion[] => [agent, environment, initial_agent, initial_environment];

/** Of all servers together, and of those apart from `serving` if there are any. */
type CompletionUsage = SamplingUsage & { servers?: ServerTokens };

/** The journaled client of an experiment's policies; a request goes to the server that has its model. */
export interface CompletionClient extends TextComparer, AsyncDisposable {
  readonly usage: CompletionUsage;
  /** As `PolicyClient.complete`, one request after another: see `JournaledClient`. */
  complete(request: CompletionRequest): Promise<Completion[]>;
  /**
   * As `PolicyClient.completionLogprobs`, recorded as completions are.
   * @throws InvalidConfig if the server has no way to say it
   */
  completionLogprobs(request: LogprobsRequest): Promise<number[]>;
  /** As `PolicyClient.tokenize`; not recorded, since token ids follow from model and text alone. */
  tokenize(model: string, text: string): Promise<number[]>;
  /** Whether the model has room for a prompt and its completion, as its server said first. */
  hasRoomFor(request: Pick<CompletionRequest, 'model' | 'maxTokens'>, prompt: string): Promise<boolean>;
}

/**
 * Wakes servers that sleep. A server that has forgotten one of the `policies` gets it again, and then the request
 * once more.
 * @param options `requests`: how many are planned, for the details of heartbeats
 */
export async function openCompletionClient(
  dependencies: ModelDependencies,
  { experiment, work }: Phase,
  { requests, policies }: { requests: number; policies: readonly PolicyVersion[] },
): Promise<CompletionClient> {
  await wakeServers(dependencies, experiment.serving);
  const routes = createModelRoutes(dependencies, experiment);
  const client = await JournaledClient.open<CompletionRequest, Completion[]>(dependencies, work, {
    responses: 'requests.jsonl',
    failures: 'failed-requests.jsonl',
    send: (request, signal) => routes.to(request.model).client.complete(request, signal),
    countTokens: routes.countTokens,
    countPromptTokens: promptTokens,
    heartbeatDetails: ({ completed, milliseconds }) => ({
      ...requestProgress(completed, requests),
      ms_since_last: milliseconds,
    }),
  });
  // Concurrent requests may find the same policy missing: they share one publication.
  const publishing = new Map<string, Promise<boolean>>();
  const publish = (model: string, isDamaged: boolean): Promise<boolean> => {
    const policy = policies.find(({ name }) => name === model);
    if (policy === undefined) return Promise.resolve(false);
    const publication =
      publishing.get(model) ??
      ensurePolicyServed(dependencies, routes.to(model).serving, policy, isDamaged).finally(() =>
        publishing.delete(model),
      );
    publishing.set(model, publication);
    return publication;
  };
  const { signal } = dependencies.activityContext();
  const send = <Response>(model: string, request: () => Promise<Response>): Promise<Response> =>
    resendIfPolicyMissing(request, (isDamaged) => publish(model, isDamaged));
  let logprobs: ResponseJournal<number[]> | undefined;
  let comparisons: ResponseJournal<Compared> | undefined;
  const contextLength = await recordedContextLengths(client, (model) =>
    send(model, () => routes.to(model).client.contextLength(model, signal)),
  );
  return {
    get usage() {
      return { ...client.usage, ...routes.usage() };
    },
    complete: async (request) => {
      const completions = await send(request.model, () => client.complete(request));
      routes.record(request.model, completions);
      return completions;
    },
    completionLogprobs: (request) =>
      send(request.model, async () => {
        const { client: server, serving } = routes.to(request.model);
        if (server.completionLogprobs === undefined)
          throw new InvalidConfig(
            `experiment: evaluation.exact: got true; a server of serving.type "${serving.type}" gives no ` +
              'probabilities of whole answers',
          );
        logprobs ??= await client.openResponses<number[]>('logprobs.jsonl');
        return client.completeFrom(logprobs, request, (stop) => server.completionLogprobs!(request, stop));
      }),
    compare: async (pairs) => {
      const { embeddings } = routes;
      if (embeddings === undefined) throw new Error('texts are compared in a run without world.similarity');
      comparisons ??= await client.openResponses<Compared>('comparisons.jsonl');
      const { similarities, promptTokens: read } = await client.completeFrom(comparisons, pairs, (stop) =>
        compareTexts(embeddings.client, embeddings.model, pairs, stop),
      );
      embeddings.record(read);
      client.usage.promptTokens += read;
      return similarities;
    },
    tokenize: (model, text) => send(model, () => routes.to(model).client.tokenize(model, text, signal)),
    hasRoomFor: async ({ model, maxTokens }, prompt) => {
      const limit = { model, maxTokens, contextLength: await contextLength(model) };
      return send(model, () => hasRoomFor(routes.to(model).client, limit, prompt, signal));
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/**
 * Contexts by model, each asked of the server once for all attempts: which requests are sent depends on them.
 */
async function recordedContextLengths(
  client: JournaledClient<CompletionRequest, Completion[]>,
  contextLength: (model: string) => Promise<number | null>,
): Promise<(model: string) => Promise<number | null>> {
  const journal = await client.openJournal<{ model: string; contextLength: number | null }>('contexts.jsonl');
  const lengths = new Map(journal.entries.map((entry) => [entry.model, entry.contextLength]));
  return async (model) => {
    const recorded = lengths.get(model);
    if (recorded !== undefined) return recorded;
    const entry = { model, contextLength: await contextLength(model) };
    await journal.append(entry);
    lengths.set(model, entry.contextLength);
    return entry.contextLength;
  };
}

/** A journaled client of a model that no run trains. */
export const openChatClient = (
  dependencies: ModelDependencies,
  work: Phase['work'],
  server: ChatClient,
  requests: number,
): Promise<JournaledClient<ChatRequest, ChatAnswer>> =>
  JournaledClient.open(dependencies, work, {
    responses: 'questions.jsonl',
    send: (request, signal) => server.answer(request, signal),
    countTokens: ({ tokens }) => tokens,
    heartbeatDetails: ({ completed }) => requestProgress(completed, requests),
  });

/** Heartbeat details, as users of Temporal's UI know them. */
const requestProgress = (completed: number, planned: number) =>
  // eslint-disable-next-line id-denylist -- the details' own name
  ({ requests: completed, of: planned });

/** What a record keeps of a completion. Journals of older versions do not name the seed of each prompt. */
export function sampleRecord(
  request: CompletionRequest,
  { text, prompt_token_ids, token_ids, logprobs, finish_reason, seed = request.seed }: Completion,
): Sampled {
  return {
    policy_version: request.model,
    seed,
    temperature: request.temperature,
    prompt_token_ids,
    token_ids,
    logprobs,
    text,
    finish_reason,
  };
}

/** Whether nothing was sampled because the prompt was too long: a fact about the task, not an answer to it. */
export const isUnanswered = ({ finish_reason, token_ids }: Sampled): boolean =>
  finish_reason === PROMPT_TOO_LONG && token_ids.length === 0;

/** The note on tasks whose prompts are too long; undefined without any. */
export function unansweredNote(model: string, what: string, tasks: ReadonlySet<string>): string | undefined {
  if (tasks.size === 0) return undefined;
  const names = [...tasks].slice(0, MAX_NAMED_TASKS).join(', ');
  const more = tasks.size > MAX_NAMED_TASKS ? `, and ${tasks.size - MAX_NAMED_TASKS} more` : '';
  return `${what} too long for the context of ${model}: ${names}${more}`;
}

const MAX_NAMED_TASKS = 10;
