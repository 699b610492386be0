import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import type { ModelServerOptions } from '../../src/inference/completions-client.ts';
import {
  DamagedModel,
  hasRoomFor,
  InvalidAnswer,
  ModelNotServed,
  ModelUnavailable,
  RequestRefused,
  sampledTokens,
} from '../../src/inference/policy-client.ts';
import type { PolicyClient } from '../../src/inference/policy-client.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { retryAfterSeconds } from '../../test-support/model-server-faults.ts';
import type { Fault } from '../../test-support/model-server-faults.ts';
import { someRequest as request } from './some-request.ts';

const never = new AbortController().signal;

let fake: FakeModelServer;
let client: PolicyClient;

beforeEach(async () => {
  fake = await FakeModelServer.start({
    model: (prompt, random) => `${prompt.slice(0, 1)}${'x'.repeat(random.int(12))}`,
    seedRule: 'embedded',
  });
  client = createClient();
  return () => fake[Symbol.asyncDispose]();
});

/** A client of a server that draws prompts apart; prompt-requests.test.ts has that of the others. */
const createClient = (options: Partial<ModelServerOptions> = {}): PolicyClient =>
  createCompletionsClient({
    baseUrl: fake.url,
    apiKey: undefined,
    timeoutMs: 20_000,
    canBatchPrompts: true,
    ...options,
  });

const failureOf = async (completions: Promise<unknown>): Promise<unknown> =>
  completions.then(
    () => 'answered',
    (error: unknown) => error,
  );
async function failureUnder(fault: Fault): Promise<unknown> {
  fake.nextFaults.push(fault);
  const faulty = fault.startsWith('stall') ? createClient({ timeoutMs: 400 }) : client;
  return failureOf(faulty.complete(request, never));
}

describe('a client of completions', () => {
  it('asks for everything that a record keeps', async () => {
    await client.complete(request, never);
    expect(fake.requests).toEqual([
      {
        model: request.model,
        prompt: request.prompts,
        n: 2,
        seed: 7,
        temperature: 0.8,
        max_tokens: 6,
        logprobs: 0,
        return_token_ids: true,
      },
    ]);
  });

  it('gives what was sampled, by prompt, then sample', async () => {
    const completions = await client.complete(request, never);
    expect(completions.map(({ prompt, sample }) => [prompt, sample])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
      [2, 0],
      [2, 1],
    ]);
    for (const { prompt, text, token_ids, logprobs, prompt_token_ids, finish_reason } of completions) {
      expect(text[0]).toBe('abc'[prompt]);
      expect(String.fromCharCode(...prompt_token_ids)).toBe(request.prompts[prompt]);
      expect(logprobs).toHaveLength(token_ids.length);
      expect(finish_reason).toBe(token_ids.at(-1) === 0 ? 'stop' : 'length');
    }
    expect(new Set(completions.map(({ finish_reason }) => finish_reason))).toEqual(
      new Set(['stop', 'length']),
    );
  });

  it('gives the same again for an equal request, and other samples for another seed', async () => {
    const first = await client.complete(request, never);
    expect(await client.complete(request, never)).toEqual(first);
    expect(await client.complete({ ...request, seed: 8 }, never)).not.toEqual(first);
  });

  it('asks a server without token ids for text alone, and takes no less', async () => {
    const plain = createClient({ returnsTokenIds: false });
    const sampled = await client.complete(request, never);
    const texts = await plain.complete(request, never);
    expect(fake.requests[1]).toEqual({
      model: request.model,
      prompt: request.prompts,
      n: 2,
      seed: 7,
      temperature: 0.8,
      max_tokens: 6,
    });
    expect(texts).toEqual(
      texts.map(({ tokens }, index) => ({
        ...sampled[index]!,
        token_ids: [],
        prompt_token_ids: [],
        logprobs: [],
        tokens,
      })),
    );
    fake.nextFaults.push('wrong schema');
    expect(await failureOf(plain.complete(request, never))).toBeInstanceOf(InvalidAnswer);
  });

  it('takes the answer of a server without token ids by any name of the model', async () => {
    fake.nextFaults.push('wrong model');
    expect(await createClient({ returnsTokenIds: false }).complete(request, never)).toHaveLength(6);
  });

  it('counts what a server without token ids says of all choices together', async () => {
    const plain = createClient({ returnsTokenIds: false });
    const ids = (await client.complete(request, never)).flatMap(({ token_ids }) => token_ids);
    expect(sampledTokens(await plain.complete(request, never))).toBe(ids.length);
  });

  it('puts choices in order', async () => {
    const inOrder = await client.complete(request, never);
    fake.nextFaults.push('choices out of order');
    expect(await client.complete(request, never)).toEqual(inOrder);
  });

  const unavailable: Fault[] = [
    'aborted',
    'server error',
    'stall',
    'stall in the body',
    'cut stream',
    'garbage body',
  ];
  it.each(unavailable)('%s: the server is unavailable, asked once', async (fault) => {
    const error = await failureUnder(fault);
    expect(error).toBeInstanceOf(ModelUnavailable);
    expect((error as Error).message).toContain(fake.url);
    expect(fake.requests).toHaveLength(1);
  });

  const invalid: [Fault, RegExp][] = [
    ['a web page', /answer of agent@0001/],
    ['wrong schema', /choices/],
    ['no token ids', /token_ids/],
    ['wrong model', /answer of model "agent@9999-000000000000"; "agent@0001-0123456789ab" was asked/],
    ['a choice too few', /has 5 choices; 6 were asked/],
    ['a choice twice', /lacks choice 1/],
    ['too few log-probabilities', /token ids but 0 log-probabilities/],
    ['oversized answer', /has 1000 tokens; at most 6 were asked/],
  ];
  it.each(invalid)('%s: the answer is invalid, asked once', async (fault, message) => {
    const error = await failureUnder(fault);
    expect(error).toBeInstanceOf(InvalidAnswer);
    expect((error as Error).message).toMatch(message);
    expect(fake.requests).toHaveLength(1);
  });

  it('too many requests: unavailable, and for how long', async () => {
    const error = await failureUnder('too many requests');
    expect(error).toBeInstanceOf(ModelUnavailable);
    expect(error).toMatchObject({ retryAfterMs: retryAfterSeconds * 1000 });
    expect(fake.requests).toHaveLength(1);
  });

  it('a model that the server does not know: not served, asked once', async () => {
    const error = await failureUnder('model not loaded');
    expect(error).toBeInstanceOf(ModelNotServed);
    expect((error as Error).message).toMatch(/answered 404 for agent@0001-0123456789ab: .*does not exist/);
    expect(fake.requests).toHaveLength(1);
  });

  it('a model whose weights are damaged: an invalid artifact, by its file', async () => {
    const error = await failureUnder('model damaged');
    expect(error).toBeInstanceOf(DamagedModel);
    expect(error).toMatchObject({ name: 'InvalidArtifact', file: '/store/objects/aa/weights' });
  });

  it('bad request: refused for good', async () => {
    const error = await failureUnder('bad request');
    expect(error).toBeInstanceOf(RequestRefused);
    expect((error as Error).message).toMatch(/answered 400 for agent@0001-0123456789ab: .*prompt: too long/);
  });

  it('nobody there: unavailable', async () => {
    const gone = createClient({ baseUrl: 'http://127.0.0.1:1/v1' });
    expect(await failureOf(gone.complete(request, never))).toBeInstanceOf(ModelUnavailable);
  });

  it('half a surrogate pair in a text becomes a character that can be stored', async () => {
    fake.nextFaults.push('half a surrogate pair');
    const [first] = await client.complete(request, never);
    expect(first?.text).toMatch(/^\ufffda/);
  });

  it.each(['stall', 'stall in the body'] as const)(
    'abort during a %s: the signal’s own reason',
    async (fault) => {
      const patient = createClient({ timeoutMs: 60_000 });
      const reason = new Error('the worker stops');
      const controller = new AbortController();
      fake.nextFaults.push(fault);
      const failure = failureOf(patient.complete(request, controller.signal));
      await expect.poll(() => fake.requests).toHaveLength(1);
      setTimeout(() => controller.abort(reason), 30);
      expect(await failure).toBe(reason);
    },
  );

  it('already aborted: nothing is asked', async () => {
    const reason = new Error('cancelled');
    expect(await failureOf(client.complete(request, AbortSignal.abort(reason)))).toBe(reason);
    expect(fake.requests).toHaveLength(0);
  });
});

describe('a request of which some prompts are too long', () => {
  const contextLength = 20;
  const prompts = Array.from(
    { length: 9 },
    (_, index) => `${index}${index === 2 || index === 7 ? 'long prompt!!!!' : '='}`,
  );

  it('is halved until they are alone; the others are answered, none with another’s noise', async () => {
    await using server = await FakeModelServer.start({
      model: (prompt, random) => `${prompt.slice(0, 1)}${random.next()}`,
      seedRule: 'embedded',
      contextLength,
    });
    const short = createClient({ baseUrl: server.url });
    const completions = await short.complete({ ...request, prompts }, never);
    expect(completions.map(({ prompt, sample }) => [prompt, sample])).toEqual(
      prompts.flatMap((_, prompt) => [
        [prompt, 0],
        [prompt, 1],
      ]),
    );
    for (const { prompt, text, finish_reason, token_ids } of completions)
      if (prompt === 2 || prompt === 7) expect([finish_reason, token_ids]).toEqual(['prompt_too_long', []]);
      else expect(text[0]).toBe(String(prompt));
    const noise = completions.filter(({ text }) => text !== '').map(({ text }) => text.slice(1));
    expect(new Set(noise).size).toBe(noise.length);
    expect(await short.complete({ ...request, prompts }, never)).toEqual(completions);
  });
});

describe('the context of a model', () => {
  it.each([
    ['that of the base model, which alone names one', { baseModel: { name: 'base' } }, false, 40],
    ['the model’s own, of a server that names all', { seedRule: 'embedded' as const }, true, 40],
  ])('is %s', async (_, rules, canBatchPrompts, length) => {
    await using server = await FakeModelServer.start({ model: () => 'x', contextLength: 40, ...rules });
    const asking = createClient({ baseUrl: server.url, canBatchPrompts });
    if (canBatchPrompts) await asking.complete({ ...request, prompts: ['a'] }, never);
    expect(await asking.contextLength(request.model, never)).toBe(length);
    expect(await asking.promptLength(request.model, 'four', never)).toBe(4);
  });

  it('has room for every prompt of a server that counts no tokens; its completions say what is too long', async () => {
    const paths: string[] = [];
    const missing = { body: '{"detail":"Not Found"}' };
    const server = createServer(({ url }, response) => {
      paths.push(url!);
      response.writeHead(404, { 'content-type': 'application/json' }).end(missing.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const asking = createClient({ baseUrl: `http://127.0.0.1:${port}/prefix/v1` });
      const limit = { model: 'm', maxTokens: 4, contextLength: 5 };
      expect(await hasRoomFor(asking, limit, 'long prompt', never)).toBe(true);
      expect(paths).toEqual(['/prefix/tokenize']);
      // A model that it does not serve is published.
      missing.body =
        '{"error":{"message":"The model `m` does not exist.","type":"NotFoundError","code":404}}';
      await expect(hasRoomFor(asking, limit, 'long prompt', never)).rejects.toThrow(ModelNotServed);
    } finally {
      server.close();
    }
  });

  it('is not taken for unknown where the embedded server lacks the model: it is published first', async () => {
    await using server = await FakeModelServer.start({ model: () => 'x', baseModel: { name: 'base' } });
    const asking = createClient({ baseUrl: server.url, canBatchPrompts: true });
    await expect(asking.contextLength(request.model, never)).rejects.toThrow(ModelNotServed);
  });

  it('is null where no list of models says', async () => {
    expect(await createClient({ canBatchPrompts: false }).contextLength(request.model, never)).toBe(null);
    const gone = createClient({ baseUrl: 'http://127.0.0.1:1/v1' });
    await expect(gone.contextLength(request.model, never)).rejects.toThrow(ModelUnavailable);
  });
});

describe('the fake model server', () => {
  it('meets a request with the same faults at the same attempts, whatever the order', async () => {
    const play = async (seeds: number[]): Promise<Map<number, boolean[]>> => {
      await using flaky = await FakeModelServer.start({
        model: () => 'x',
        faultRates: { 'server error': 0.5 },
        faultSeed: 3,
      });
      const flakyClient = createClient({ baseUrl: flaky.url, timeoutMs: 1000 });
      const outcomes = new Map<number, boolean[]>();
      for (const seed of seeds) {
        const failed = (await failureOf(flakyClient.complete({ ...request, seed }, never))) instanceof Error;
        outcomes.set(seed, [...(outcomes.get(seed) ?? []), failed]);
      }
      return outcomes;
    };
    const seeds = Array.from({ length: 20 }, (_, seed) => seed);
    const outcomes = await play([...seeds, ...seeds]);
    expect(await play([...seeds.toReversed(), ...seeds])).toEqual(outcomes);
    expect(new Set([...outcomes.values()].flat())).toEqual(new Set([true, false]));
  });
});
