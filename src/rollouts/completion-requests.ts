import { join } from 'node:path';
import type { ModelClients } from '../inference/model-clients.ts';
import { ModelNotServed } from '../inference/policy-client.ts';
import type { Completion, CompletionRequest } from '../inference/policy-client.ts';
import { ensurePolicyServed } from '../inference/publish.ts';
import type { HasActivityContext, PhaseStorage } from '../runtime/dependencies.ts';
import type { Phase } from '../runtime/run-once.ts';
import { Journal } from '../store/journal.ts';
import type { PolicyVersion, RunState } from '../types/activity-types.ts';
import type { Sampled } from '../types/records.ts';

/** What a phase needs to ask models. */
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
  request: (chunk: Item[], index: number) => CompletionRequest,
): PlannedRequest<Item>[] {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
  return chunks.map((chunk, index) => ({ request: request(chunk, index), items: chunk }));
}

/** The requests of one shard: every `shards`-th. */
export const selectShard = <T>(planned: readonly T[], shard: number, shards: number): T[] =>
  planned.filter((_, index) => index % shards === shard);

/**
 * Answers to the requests, in their order. Each is on disk before the next is asked, so a retry asks only
 * what is missing, exactly as it was; a newer attempt's claim stops this one. Failed requests are counted
 * over all attempts. A server that has forgotten one of the `policies` is given it again.
 */
export async function* streamCompletions<Item>(
  dependencies: ModelDependencies,
  { experiment, work }: Phase,
  planned: Iterable<PlannedRequest<Item>> | AsyncIterable<PlannedRequest<Item>>,
  {
    requests,
    policies,
    count,
  }: { requests: number; policies: readonly PolicyVersion[]; count: SamplingUsage },
): AsyncGenerator<PlannedRequest<Item> & { completions: Completion[] }> {
  const { signal, heartbeat } = dependencies.activityContext();
  const { serving, durability } = experiment;
  const server = dependencies.policyClient(serving, durability.requestTimeoutSeconds * 1000);
  const folder = await work();
  const claim = await folder.claim();
  const options = { onDamage: dependencies.onDamage, assertCurrent: () => claim.assertCurrent() };
  const journal = await Journal.open<Completion[]>(join(folder.path, 'requests.jsonl'), options);
  const failures = await Journal.open<FailedRequest>(join(folder.path, 'failed-requests.jsonl'), options);
  count.retried = failures.entries.length;
  const ask = async (request: CompletionRequest, index: number): Promise<Completion[]> => {
    try {
      return await server.complete(request, signal);
    } catch (error) {
      if (!signal.aborted) {
        await failures.append({ request: index, error: error instanceof Error ? error.name : 'Error' });
        count.retried += 1;
      }
      throw error;
    }
  };
  const askServed = async (request: CompletionRequest, index: number): Promise<Completion[]> => {
    try {
      return await ask(request, index);
    } catch (error) {
      const policy = policies.find(({ name }) => name === request.model);
      if (
        !(error instanceof ModelNotServed) ||
        policy === undefined ||
        !(await ensurePolicyServed(dependencies, serving, policy))
      )
        throw error;
      return ask(request, index);
    }
  };
  try {
    let [done, last] = [0, Date.now()];
    for await (const one of planned) {
      // In the order of the requests: what was answered before comes first.
      let completions = journal.entries.shift();
      if (completions === undefined) {
        signal.throwIfAborted();
        completions = await askServed(one.request, done);
        await journal.append(completions);
        heartbeat({ requests: done + 1, of: requests, ms_since_last: Date.now() - last });
        last = Date.now();
      }
      count.tokens += completions.reduce((sum, { token_ids }) => sum + token_ids.length, 0);
      done += 1;
      yield { ...one, completions };
    }
  } finally {
    await journal.close();
    await failures.close();
  }
}

/** What a record keeps of a completion. */
export function sampleRecord(
  request: CompletionRequest,
  { text, prompt_token_ids, token_ids, logprobs, finish_reason }: Completion,
): Sampled {
  return {
    policy_version: request.model,
    seed: request.seed,
    temperature: request.temperature,
    prompt_token_ids,
    token_ids,
    logprobs,
    text,
    finish_reason,
  };
}

/** A request that failed and was asked again, or will be. */
type FailedRequest = { request: number; error: string };

/** What a phase sampled: tokens, and the failed requests among all that it took. */
export type SamplingUsage = { tokens: number; retried: number };

/** The policies that an epoch may ask. */
export const epochPolicies = ({
  agent,
  environment,
  initial_agent,
  initial_environment,
}: RunState): PolicyVersion[] => [agent, environment, initial_agent, initial_environment];

export type SendRequest = (request: CompletionRequest) => Promise<Completion[]>;

/**
 * Requests each of which follows from the answers before it, journalled like any others: a retry makes the
 * same ones from the same answers.
 */
export function sequentialRequests(
  dependencies: ModelDependencies,
  context: Phase,
  options: Parameters<typeof streamCompletions>[3],
): { ask: SendRequest; close: () => Promise<void> } {
  const next: CompletionRequest[] = [];
  const stream = streamCompletions(
    dependencies,
    context,
    (function* () {
      for (let request = next.shift(); request !== undefined; request = next.shift())
        yield { request, items: [] };
    })(),
    options,
  );
  return {
    ask: async (request) => {
      next.push(request);
      const { value } = (await stream.next()) as IteratorYieldResult<{ completions: Completion[] }>;
      return value.completions;
    },
    close: async () => {
      await stream.return(undefined);
    },
  };
}
