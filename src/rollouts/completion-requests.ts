/** Requests to model servers: how prompts are cut into them, and the journaled clients that send them. */
import type { ChatAnswer, ChatClient, ChatRequest } from '../inference/chat-client.ts';
import type { ModelClients } from '../inference/model-clients.ts';
import type { Completion, CompletionRequest } from '../inference/policy-client.ts';
import { ensurePolicyServed, resendIfPolicyMissing } from '../inference/publish.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { PolicyVersion, RunState } from '../types/activity-types.ts';
import type { Sampled } from '../types/records.ts';
import { JournaledClient } from './journaled-client.ts';
import type { SamplingUsage } from './journaled-client.ts';

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

/** The journaled client of an experiment's policies. */
export interface CompletionClient extends AsyncDisposable {
  readonly usage: SamplingUsage;
  /** As `PolicyClient.complete`, one request after another: see `JournaledClient`. */
  complete(request: CompletionRequest): Promise<Completion[]>;
  /** As `PolicyClient.tokenize`; not recorded, since token ids follow from model and text alone. */
  tokenize(model: string, text: string): Promise<number[]>;
}

/**
 * A server that has forgotten one of the `policies` gets it again, and then the request once more.
 * @param options `requests`: how many are planned, for the details of heartbeats
 */
export async function openCompletionClient(
  dependencies: ModelDependencies,
  { experiment: { serving, durability }, work }: Phase,
  { requests, policies }: { requests: number; policies: readonly PolicyVersion[] },
): Promise<CompletionClient> {
  const server = dependencies.policyClient(serving, durability.requestTimeoutSeconds * 1000);
  const client = await JournaledClient.open<CompletionRequest, Completion[]>(dependencies, work, {
    responses: 'requests.jsonl',
    failures: 'failed-requests.jsonl',
    send: (request, signal) => server.complete(request, signal),
    countTokens: (completions) => completions.reduce((total, { token_ids }) => total + token_ids.length, 0),
    heartbeatDetails: ({ completed, milliseconds }) => ({
      ...requestProgress(completed, requests),
      ms_since_last: milliseconds,
    }),
  });
  const publish = async (model: string): Promise<boolean> => {
    const policy = policies.find(({ name }) => name === model);
    return policy !== undefined && ensurePolicyServed(dependencies, serving, policy);
  };
  return {
    usage: client.usage,
    complete: (request) =>
      resendIfPolicyMissing(
        () => client.complete(request),
        () => publish(request.model),
      ),
    tokenize: (model, text) => server.tokenize(model, text, dependencies.activityContext().signal),
    [Symbol.asyncDispose]: () => client.close(),
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
