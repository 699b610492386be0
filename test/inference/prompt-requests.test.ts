import { beforeEach, describe, expect, it } from 'vitest';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { ModelNotServed, ModelUnavailable, RequestRefused } from '../../src/inference/policy-client.ts';
import type { PolicyClient } from '../../src/inference/policy-client.ts';
import { deriveSeed } from '../../src/numerics/random.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { someRequest as request } from './some-request.ts';

const seeds = [0, 1, 2].map((prompt) => deriveSeed(7, 'prompt', prompt));
const never = new AbortController().signal;
const contextLength = 40;

let fake: FakeModelServer;
let client: PolicyClient;
const createClient = (baseUrl: string, timeoutMs = 20_000): PolicyClient =>
  createCompletionsClient({ baseUrl, apiKey: undefined, timeoutMs });

beforeEach(async () => {
  fake = await FakeModelServer.start({
    model: (prompt, random) => `${prompt.slice(0, 1)}${'x'.repeat(random.int(12))}`,
    contextLength,
  });
  client = createClient(fake.url);
  return () => fake[Symbol.asyncDispose]();
});

describe('a client of a server that gives all prompts of a request the same noise', () => {
  it('sends each prompt alone, with a seed of its own that its completions name', async () => {
    const completions = await client.complete(request, never);
    expect(fake.requests.toSorted((a, b) => seeds.indexOf(a.seed) - seeds.indexOf(b.seed))).toEqual(
      request.prompts.map((prompt, index) => ({
        model: request.model,
        prompt: [prompt],
        n: 2,
        seed: seeds[index],
        temperature: 0.8,
        max_tokens: 6,
        logprobs: 0,
        return_token_ids: true,
      })),
    );
    expect(completions.map(({ prompt, sample, text, seed }) => [prompt, sample, text[0], seed])).toEqual([
      [0, 0, 'a', seeds[0]],
      [0, 1, 'a', seeds[0]],
      [1, 0, 'b', seeds[1]],
      [1, 1, 'b', seeds[1]],
      [2, 0, 'c', seeds[2]],
      [2, 1, 'c', seeds[2]],
    ]);
  });

  it('draws any sample again from its seed and its place among the samples', async () => {
    const completions = await client.complete({ ...request, n: 4 }, never);
    for (const { prompt, sample, seed, token_ids } of completions) {
      const prompts = [request.prompts[prompt] as string];
      const [again] = await client.complete(
        { ...request, prompts, n: 1, promptSeeds: [seed! + sample] },
        never,
      );
      expect(again!.token_ids).toEqual(token_ids);
    }
  });

  it('gives the same again for an equal request, and other samples for another seed', async () => {
    const first = await client.complete(request, never);
    expect(await client.complete(request, never)).toEqual(first);
    expect(await client.complete({ ...request, seed: 8 }, never)).not.toEqual(first);
  });

  it('answers a prompt that is too long, to the last token, by saying so; the others as ever', async () => {
    const room = (tokens: number): string => 'p'.repeat(contextLength - tokens);
    const prompts = ['a=', room(-1), room(0), room(1)];
    const completions = await client.complete({ ...request, prompts }, never);
    expect(completions.map(({ finish_reason, token_ids }) => [finish_reason, token_ids.length])).toEqual([
      ...completions.slice(0, 2).map(({ finish_reason, token_ids }) => [finish_reason, token_ids.length]),
      ...Array.from({ length: 4 }, () => ['prompt_too_long', 0]),
      ['length', 1],
      ['length', 1],
    ]);
    expect(completions.slice(0, 2)).toEqual(await client.complete({ ...request, prompts: ['a='] }, never));
  });

  it('refuses for good what no prompt could mend, and asks no more than the prompts', async () => {
    await expect(client.complete({ ...request, maxTokens: contextLength + 1 }, never)).rejects.toThrow(
      /max_tokens=41 cannot be greater than max_model_len=40/,
    );
    fake.nextFaults.push('bad request');
    await expect(client.complete(request, never)).rejects.toThrow(RequestRefused);
    expect(fake.requests.length).toBeLessThanOrEqual(6);
  });

  it('fails as a whole with the first failure, and the request after it is answered', async () => {
    fake.nextFaults.push('model not loaded', 'stall', 'stall');
    await expect(client.complete(request, never)).rejects.toThrow(ModelNotServed);
    expect(await client.complete(request, never)).toHaveLength(6);
  });

  it('has one time limit for all prompts, which names the server', async () => {
    fake.nextFaults.push(undefined, 'stall in the body');
    const late = createClient(fake.url, 200).complete(request, never);
    await expect(late).rejects.toThrow(ModelUnavailable);
    await expect(late).rejects.toThrow(`${fake.url} did not answer for agent@0001-0123456789ab in 200 ms`);
  });

  it('stops all prompts for the caller’s own reason', async () => {
    const reason = new Error('the worker stops');
    const controller = new AbortController();
    fake.nextFaults.push('stall', 'stall', 'stall');
    const failure = client.complete(request, controller.signal);
    await expect.poll(() => fake.requests).toHaveLength(3);
    controller.abort(reason);
    await expect(failure).rejects.toBe(reason);
  });
});
