import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { ModelUnavailable, RequestRefused } from '../../src/inference/policy-client.ts';
import type { CompletionRequest, PolicyClient } from '../../src/inference/policy-client.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';

const schema = { type: 'object' };
const request: CompletionRequest = {
  model: 'any-model',
  prompts: ['a', 'b'],
  n: 3,
  seed: 7,
  temperature: 0.8,
  maxTokens: 6,
};
const never = new AbortController().signal;
const serving = parseExperiment(
  withFields(exampleFile, {
    arm: { type: 'random' },
    'agent.training': null,
    serving: {
      type: 'openai',
      baseUrl: 'http://127.0.0.1:1/v1',
      publish: 'none',
      returnsTokenIds: false,
      models: { agent: 'any-model', environment: 'any-model' },
      api: 'chat',
    },
  }),
).serving;

/** As a worker asks these servers, side by side. */
const clientOf = (...baseUrls: string[]): PolicyClient =>
  createModelClients(
    { policyServer: 'http://127.0.0.1:1/v1', vllmServer: undefined },
    () => baseUrls.map((baseUrl) => ({ baseUrl, apiKey: undefined })),
    (_, send) => send(),
  ).policyClient(serving, 20_000);

let fake: FakeModelServer;
let client: PolicyClient;

async function start(): Promise<FakeModelServer> {
  const server = await FakeModelServer.start({
    model: () => 'completion',
    chat: ([message], random) =>
      message!.content === 'too long' ? 400 : `${message!.content}${'x'.repeat(random.int(12))}`,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

beforeEach(async () => {
  fake = await start();
  client = clientOf(fake.url);
});

describe('a policy behind chat completions', () => {
  it('draws the same samples from one server and from two, and names the seeds that it sent', async () => {
    const alone = await client.complete(request, never);
    const second = await start();
    const shared = await clientOf(fake.url, second.url).complete(request, never);
    expect(shared).toEqual(alone);
    const questions = [...fake.chats.slice(6), ...second.chats];
    expect(second.chats.length).toBeGreaterThan(0);
    expect(new Set(questions.map(({ seed }) => seed))).toEqual(new Set(shared.map(({ seed }) => seed)));
  });

  it('is asked once for each sample, each with a seed of its own that every server takes', async () => {
    const completions = await client.complete(request, never);
    expect(completions.map(({ prompt, sample, text }) => [prompt, sample, text[0]])).toEqual([
      [0, 0, 'a'],
      [0, 1, 'a'],
      [0, 2, 'a'],
      [1, 0, 'b'],
      [1, 1, 'b'],
      [1, 2, 'b'],
    ]);
    expect(fake.requests).toEqual([]);
    expect(new Set(fake.chats.map(({ seed }) => seed)).size).toBe(6);
    expect(completions.map(({ seed }) => seed).toSorted()).toEqual(
      fake.chats.map(({ seed }) => seed).toSorted(),
    );
    expect(
      fake.chats.every(
        ({ seed, max_tokens, model }) => seed < 2 ** 31 && max_tokens === 6 && model === 'any-model',
      ),
    ).toBe(true);
    expect(
      completions.every(
        ({ token_ids, logprobs, prompt_token_ids }) =>
          token_ids.length + logprobs.length + prompt_token_ids.length === 0,
      ),
    ).toBe(true);
    expect(new Set(completions.map(({ finish_reason }) => finish_reason))).toEqual(
      new Set(['stop', 'length']),
    );
    expect(
      completions.every(({ finish_reason, text }) => finish_reason === 'stop' || text.length === 6),
    ).toBe(true);
    expect(await client.complete(request, never)).toEqual(completions);
    expect(await client.complete({ ...request, seed: 8 }, never)).not.toEqual(completions);
  });

  it('is held to a schema if the request says so', async () => {
    await client.complete({ ...request, n: 1, schema }, never);
    await client.complete({ ...request, n: 1 }, never);
    expect(fake.chats.map(({ response_format }) => response_format)).toEqual([
      ...Array.from({ length: 2 }, () => ({ type: 'json_schema', json_schema: { name: 'task', schema } })),
      undefined,
      undefined,
    ]);
  });

  it('says of a prompt that is too long that it is', async () => {
    const completions = await client.complete({ ...request, prompts: ['a', 'too long'], n: 1 }, never);
    expect(completions.map(({ text, finish_reason }) => [text[0], finish_reason])).toEqual([
      ['a', expect.stringMatching('stop|length')],
      [undefined, 'prompt_too_long'],
    ]);
  });

  it('has no token ids to continue from', async () => {
    await expect(client.complete({ ...request, prompts: [[1, 2]] }, never)).rejects.toThrow(RequestRefused);
    await expect(client.tokenize('any-model', 'x', never)).rejects.toThrow(RequestRefused);
  });

  it('fails as a whole: away, or stopped for the caller’s own reason', async () => {
    const gone = clientOf('http://127.0.0.1:1/v1');
    await expect(gone.complete(request, never)).rejects.toThrow(ModelUnavailable);
    const reason = new Error('the worker stops');
    await expect(client.complete(request, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(fake.chats).toEqual([]);
  });
});

describe('completions', () => {
  it('are held to a schema if the request says so', async () => {
    const plain = createCompletionsClient({ baseUrl: fake.url, apiKey: undefined, timeoutMs: 20_000 });
    await plain.complete({ ...request, prompts: ['a'], maxTokens: 20, schema }, never);
    await plain.complete({ ...request, prompts: ['a'], maxTokens: 20 }, never);
    expect(fake.requests.map(({ response_format }) => response_format)).toEqual([
      { type: 'json_schema', json_schema: { name: 'task', schema } },
      undefined,
    ]);
  });

  it('are held to a grammar if the request says so', async () => {
    const plain = createCompletionsClient({ baseUrl: fake.url, apiKey: undefined, timeoutMs: 20_000 });
    await plain.complete({ ...request, prompts: ['a'], maxTokens: 20, grammar: 'root ::= "x"' }, never);
    await plain.complete({ ...request, prompts: ['a'], maxTokens: 20 }, never);
    expect(fake.requests.map(({ structured_outputs }) => structured_outputs)).toEqual([
      { grammar: 'root ::= "x"' },
      undefined,
    ]);
  });
});
