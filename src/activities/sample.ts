import { join } from 'node:path';
import { Journal } from '../store/journal.ts';
import type { Completion, CompletionRequest } from '../policies/policy-server.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { Sampled } from '../contracts/records.ts';
import type { Phase } from './phase.ts';
import type { Ports } from './ports.ts';

/** A request, and what its prompts stand for. */
export interface Planned<Item> {
  request: CompletionRequest;
  items: Item[];
}

/** Cuts prompts into requests: the unit of batching, storage and retry. */
export function planRequests<Item>(items: readonly Item[], size: number, request: (chunk: Item[], index: number) => CompletionRequest): Planned<Item>[] {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
  return chunks.map((chunk, index) => ({ request: request(chunk, index), items: chunk }));
}

/** The requests of one shard: every `shards`-th. */
export const ofShard = <T>(planned: readonly T[], shard: number, shards: number): T[] => planned.filter((_, index) => index % shards === shard);

export const requestCount = (prompts: number, size: number): number => Math.ceil(prompts / size);

/**
 * Answers to the requests, `count` of them, in their order. Each is on disk before the next is asked, so a retry asks only what is missing,
 * exactly as it was; a newer attempt's claim stops this one.
 */
export async function* answers<Item>({ policyServer, attempt }: Ports, { experiment, work }: Phase, planned: Iterable<Planned<Item>> | AsyncIterable<Planned<Item>>, count: number): AsyncGenerator<Planned<Item> & { completions: Completion[] }> {
  const { signal, heartbeat } = attempt();
  const { serving, durability } = experiment;
  const server = policyServer(serving, durability.requestTimeoutSeconds * 1000);
  const folder = await work();
  const claim = await folder.claim();
  const journal = await Journal.open<Completion[]>(join(folder.path, 'requests.jsonl'), { assertCurrent: () => claim.assertCurrent() });
  try {
    let [done, last] = [0, Date.now()];
    for await (const one of planned) {
      // In the order of the requests: what was answered before comes first.
      let completions = journal.entries.shift();
      if (completions === undefined) {
        signal.throwIfAborted();
        completions = await server.complete(one.request, signal);
        await journal.append(completions);
        heartbeat({ requests: done + 1, of: count, ms_since_last: Date.now() - last });
        last = Date.now();
      }
      done += 1;
      yield { ...one, completions };
    }
  } finally {
    await journal.close();
  }
}

/** What a record keeps of a completion. */
export function sampled(request: CompletionRequest, { text, prompt_token_ids, token_ids, logprobs, finish_reason }: Completion): Sampled {
  return { policy_version: request.model, seed: request.seed, temperature: request.temperature, prompt_token_ids, token_ids, logprobs, text, finish_reason };
}

/** Tokens that a phase sampled. */
export class TokenCount {
  total = 0;
  add(completions: readonly Completion[]): void {
    for (const { token_ids } of completions) this.total += token_ids.length;
  }
}

/** Number of generation requests an epoch has: those to the current simulator and those to the initial one. */
export function generationCounts({ environment, durability }: Experiment): { initial: number; current: number; requests: number } {
  const initial = Math.round(environment.initialShare * environment.promptsPerEpoch);
  const current = environment.promptsPerEpoch - initial;
  return { initial, current, requests: requestCount(initial, durability.promptsPerRequest) + requestCount(current, durability.promptsPerRequest) };
}
