import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, afterAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  InvalidAnswer,
  ModelNotServed,
  ModelUnavailable,
  RequestRefused,
} from '../../src/inference/policy-client.ts';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';
import { createSglangAdapters } from '../../src/inference/sglang-adapters.ts';
import { createSglangClient } from '../../src/inference/sglang-client.ts';
import { FakeSglang } from '../../test-support/fake-sglang.ts';
import type { FakeSglangOptions } from '../../test-support/fake-sglang.ts';

let adapter: string;
beforeAll(() => (adapter = mkdtempSync(join(tmpdir(), 'genenv-adapter-'))));
afterAll(() => rmSync(adapter, { recursive: true }));

const request: CompletionRequest = {
  model: 'agent@0001',
  prompts: ['3+4=', '1+1='],
  n: 3,
  seed: 7,
  temperature: 0.7,
  maxTokens: 20,
};
const never = new AbortController().signal;

async function serve(options: Partial<FakeSglangOptions> = {}) {
  const server = await FakeSglang.start({
    model: (prompt, random) => `${prompt}${random.int(1_000_000)};END and more`,
    ...options,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.adapters.load(request.model, adapter);
  const client = createSglangClient({ baseUrl: server.url, apiKey: undefined, timeoutMs: 5_000 });
  return {
    server,
    client,
    complete: (fields: Partial<CompletionRequest> = {}) => client.complete({ ...request, ...fields }, never),
  };
}

describe('completions', () => {
  it('have the tokens that were sampled, their log-probabilities and those of the prompt', async () => {
    const { complete } = await serve();
    const completions = await complete({ stop: [';END'] });
    expect(completions.map(({ prompt, sample }) => [prompt, sample])).toEqual(
      [0, 1].flatMap((prompt) => [0, 1, 2].map((sample) => [prompt, sample])),
    );
    for (const { prompt, text, token_ids, prompt_token_ids, logprobs, finish_reason } of completions) {
      expect(text).toMatch(prompt === 0 ? /^3\+4=\d+$/ : /^1\+1=\d+$/);
      // The stop text was sampled, and is trained on; the text alone ends before it.
      expect(String.fromCharCode(...token_ids)).toBe(`${text};END`);
      expect(String.fromCharCode(...prompt_token_ids)).toBe(request.prompts[prompt]);
      expect(logprobs).toHaveLength(token_ids.length);
      expect(finish_reason).toBe('stop');
    }
    expect(await complete({ stop: [';END'] })).toEqual(completions);
    const [cut] = await complete({ maxTokens: 5 });
    expect(cut).toMatchObject({ finish_reason: 'length', token_ids: { length: 5 } });
  });

  it('are independent: each sample has a seed of its own, and the ones of a prompt do not follow from others', async () => {
    const { server, complete } = await serve();
    const all = await complete();
    expect(new Set(all.map(({ text }) => text)).size).toBe(6);
    const seeds = server.requests.flatMap(({ sampling_params: parameters }) =>
      [parameters].flat().map(({ sampling_seed: seed }) => seed),
    );
    expect(new Set(seeds).size).toBe(6);
    expect(await complete({ prompts: ['1+1='], promptSeeds: [all[3]!.seed!] })).toEqual(
      all.slice(3).map((completion) => ({ ...completion, prompt: 0 })),
    );
  });

  it('continue token ids as they were sent', async () => {
    const { server, complete } = await serve();
    const ids = [51, 43];
    const [first] = await complete({ prompts: [ids] });
    expect(server.requests[0]!.input_ids).toEqual([ids, ids, ids]);
    expect(first!.prompt_token_ids).toEqual(ids);
  });

  it('are asked for without top-k, top-p, min-p and penalties, held to a schema or a grammar as texts', async () => {
    const { server, complete } = await serve();
    await complete({ schema: { type: 'object' }, prompts: ['x'], n: 1 });
    await complete({ grammar: 'root ::= "a"', prompts: ['x'], n: 1 });
    const [held, grammar] = server.requests.map(({ sampling_params: parameters }) => [parameters].flat()[0]);
    expect(held).toMatchObject({
      ...{ temperature: 0.7, top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1 },
      json_schema: '{"type":"object"}',
    });
    expect(grammar).toMatchObject({ ebnf: 'root ::= "a"' });
    expect(server.requests[0]).toMatchObject({ lora_path: request.model, return_logprob: true });
  });

  it('say of prompts that are too long, with or without their answer, that they are', async () => {
    const { server, client, complete } = await serve({ contextLength: 24 });
    expect(await client.contextLength(request.model, never)).toBe(24);
    const prompts = ['x'.repeat(24), 'x'.repeat(5), 'x'.repeat(4)];
    const completions = await complete({ prompts, n: 1, maxTokens: 20 });
    expect(completions.map(({ finish_reason }) => finish_reason)).toEqual([
      'prompt_too_long',
      'prompt_too_long',
      'length',
    ]);
    // Of a server with less memory than the context takes.
    server.nextRefusals.push('Input length (9 tokens) exceeds the maximum allowed length (8 tokens).');
    expect((await complete({ prompts: ['x'], n: 1 }))[0]!.finish_reason).toBe('prompt_too_long');
  });

  it('need an adapter: one that is missing is told from a request that is wrong', async () => {
    const { server, complete } = await serve();
    await expect(complete({ model: 'agent@0002' })).rejects.toThrow(ModelNotServed);
    // One that was unloaded is loaded again by SGLang itself.
    server.adapters.unload(request.model);
    expect(await complete()).toHaveLength(6);
    server.adapters.forget();
    await expect(complete()).rejects.toThrow(ModelNotServed);
  });

  it('and tokens are counted by the server', async () => {
    const { client } = await serve();
    expect(await client.tokenize(request.model, 'ab', never)).toEqual([97, 98]);
    expect(await client.promptLength(request.model, 'abc', never)).toBe(3);
  });
});

type Sample = { output_ids: number[]; meta_info: Record<string, unknown> };

describe('an answer', () => {
  const change = (alter: (sample: Sample) => object) => (samples: object[]) =>
    samples.map((sample) => alter(sample as Sample));
  const meta = (fields: object) =>
    change((sample) => ({ ...sample, meta_info: { ...sample.meta_info, ...fields } }));

  it.each<[string, (samples: object[]) => object, string]>([
    ['a sample too few', (samples) => samples.slice(1), 'has 2 samples; 3 were asked'],
    ['no list', ([sample]) => sample!, 'expected array'],
    ['no log-probabilities', meta({ output_token_logprobs: undefined }), 'of other tokens'],
    ['other tokens', change((sample) => ({ ...sample, output_ids: [1, 2, 3] })), 'of other tokens'],
    ['a shortened prompt', meta({ prompt_tokens: 2 }), 'follows 2 tokens; 4 were sent'],
  ])('that has %s is invalid', async (_, alter, message) => {
    const { server, complete } = await serve();
    server.nextChanges.push(alter);
    const failure = complete({ prompts: ['3+4='] });
    await expect(failure).rejects.toThrow(InvalidAnswer);
    await expect(failure).rejects.toThrow(message);
  });

  it('with a sample that SGLang gave up is asked for again', async () => {
    const { server, complete } = await serve();
    server.nextChanges.push(meta({ finish_reason: { type: 'abort', message: 'Aborted' } }));
    const failure = complete({ prompts: ['3+4='] });
    await expect(failure).rejects.toThrow(ModelUnavailable);
    await expect(failure).rejects.toMatchObject({ server: server.url, reason: 'gave up a sample: Aborted' });
  });

  it('of a server that refuses, or is away', async () => {
    const { server, complete } = await serve();
    server.nextRefusals.push('Only one of json_schema, regex, ebnf, or structural_tag can be set.');
    await expect(complete()).rejects.toThrow(RequestRefused);
    await server.goAway();
    await expect(complete()).rejects.toMatchObject({
      name: 'ModelUnavailable',
      reason: 'connection refused',
    });
  });
});

it('the likeliest tokens are those of as many prompts as were asked', async () => {
  const { server } = await serve();
  const adapters = createSglangAdapters({ baseUrl: server.url, apiKey: undefined, timeoutMs: 5_000 });
  expect(await adapters.likeliest(request.model, [[1, 2], [3]])).toHaveLength(2);
  server.nextChanges.push((answers) => answers.slice(1));
  await expect(adapters.likeliest(request.model, [[1, 2], [3]])).rejects.toThrow(
    'answer of agent@0001: got 1 answers; expected 2',
  );
});
