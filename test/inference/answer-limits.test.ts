import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { search } from '../../src/benchmarks/bamboogle/search-endpoint.ts';
import { createChatClient } from '../../src/inference/chat-client.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { InvalidAnswer, ModelUnavailable, RequestRefused } from '../../src/inference/policy-client.ts';
import { createCaller } from '../../src/inference/server-calls.ts';
import { createSglangAdapters } from '../../src/inference/sglang-adapters.ts';
import { createSglangClient } from '../../src/inference/sglang-client.ts';
import { createVllmAdapters } from '../../src/inference/vllm-adapters.ts';

const never = new AbortController().signal;
const request = { model: 'm', prompts: ['a'], n: 1, seed: 1, temperature: 1, maxTokens: 16 };

let answer: (request: IncomingMessage, response: ServerResponse) => void;
let server: Server;
let baseUrl: string;
let sent = 0;
beforeEach(async () => {
  sent = 0;
  server = createServer((received, response) => {
    received.resume().on('end', () => answer(received, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const completion = (text: string, model = 'm') => ({
  model,
  choices: [
    {
      index: 0,
      text,
      finish_reason: 'stop',
      token_ids: [1],
      prompt_token_ids: [97],
      logprobs: { token_logprobs: [-1] },
    },
  ],
});
const chat = (content: string) => ({ choices: [{ message: { content }, finish_reason: 'stop' }] });
const inflated = (body: object) => (_: IncomingMessage, response: ServerResponse) => {
  const zipped = gzipSync(JSON.stringify(body));
  sent = zipped.length;
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(zipped);
};
const options = () => ({ baseUrl, apiKey: undefined, timeoutMs: 60_000 });

it.each([[600], [799], [999]])('a status of %i is that of a broken gateway', async (status) => {
  answer = (_, response) => {
    response.statusMessage = 'key\xe9';
    response.writeHead(status).end('odd');
  };
  for (const ask of [
    () => createCompletionsClient(options()).complete(request, never),
    () => createChatClient(options()).answer({ ...request, messages: [] }, never),
    () => createCaller(options())('/load', {}),
  ])
    await expect(ask()).rejects.toMatchObject({
      name: 'ModelUnavailable',
      reason: expect.stringMatching(/^(answered )?502/) as string,
    });
});

describe('an answer larger than anything that was asked for', () => {
  const large = 'x'.repeat(20_000_000);

  it.each([
    ['completions', () => createCompletionsClient(options()).complete(request, never), completion(large)],
    ['a chat', () => createChatClient(options()).answer({ ...request, messages: [] }, never), chat(large)],
    [
      'SGLang',
      () => createSglangClient(options()).complete({ ...request, prompts: [[1]] as never }, never),
      [{ text: large, output_ids: [1], meta_info: {} }],
    ],
    [
      'tokens',
      () => createCompletionsClient(options()).tokenize('m', 'a', never),
      { tokens: [], more: large },
    ],
    ['models', () => createCompletionsClient(options()).contextLength('m', never), { data: [], more: large }],
    ['an adapter', () => createCaller(options())('/load_lora_adapter', {}), { more: large }],
  ])(
    'is not read to its end, though it is small on the wire (%s)',
    async (_, ask: () => Promise<unknown>, body) => {
      answer = inflated(body);
      const failure: unknown = await ask().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InvalidAnswer);
      expect((failure as Error).message).toMatch(
        /the answer has more than \d+ bytes, the most that was asked for/,
      );
      expect(sent).toBeLessThan(100_000);
    },
    60_000,
  );

  it('of a search endpoint is an error that a retry may help', async () => {
    answer = inflated({ organic: [{ snippet: large }] });
    await expect(search({ url: baseUrl, key: undefined }, 'q', never)).rejects.toThrow(
      /more than 16000000 bytes/,
    );
  });

  it('is refused by its text, if its bytes are few enough', async () => {
    const text = 'x'.repeat(16 * 256 + 1);
    answer = inflated(completion(text));
    await expect(createCompletionsClient(options()).complete(request, never)).rejects.toThrow(
      /choice 0 of m has 4097 characters; 4096 is the most for 16 tokens/,
    );
    answer = inflated(chat(text));
    await expect(createChatClient(options()).answer({ ...request, messages: [] }, never)).rejects.toThrow(
      /answer of m has 4097 characters/,
    );
  });

  it('is accepted up to there, with all that vLLM adds to it', async () => {
    // Worst case: tokens of 128 spaces, which are in the text, the tokens and the likeliest tokens.
    const token = ' '.repeat(128);
    const body = completion(token.repeat(16));
    Object.assign(body.choices[0]!, {
      token_ids: Array<number>(16).fill(151_643),
      logprobs: {
        token_logprobs: Array<number>(16).fill(-12.345678901234567),
        tokens: Array<string>(16).fill(token),
        top_logprobs: Array<object>(16).fill({ [token]: -12.345678901234567 }),
        text_offset: Array<number>(16).fill(123_456),
      },
    });
    answer = inflated(body);
    const completions = await createCompletionsClient(options()).complete(request, never);
    expect(completions[0]!.text).toHaveLength(16 * 128);
  });
});

const largeRequest = { ...request, maxTokens: 2_000 };
const completions = () => createCompletionsClient(options()).complete(largeRequest, never);
const textCompletions = () =>
  createCompletionsClient({ ...options(), returnsTokenIds: false }).complete(largeRequest, never);
const tokens = () => createCompletionsClient(options()).tokenize('m', 'a'.repeat(1_000), never);
const models = () => createCompletionsClient(options()).contextLength('m', never);
const answerOfChat = () => createChatClient(options()).answer({ ...largeRequest, messages: [] }, never);
const sglang = () =>
  createSglangClient(options()).complete({ ...largeRequest, prompts: [[1]] as never }, never);
const baseModel = () => createVllmAdapters(options()).likeliest(null, [[1]]);
const choice = completion('x').choices[0]!;
const sample = {
  text: 'x',
  output_ids: [1],
  meta_info: { prompt_tokens: 1, finish_reason: { type: 'stop' } },
};

describe('an answer of many values', () => {
  const zeros = (count: number): number[] => Array<number>(count).fill(0);

  it.each([
    ['completions', completions, { model: 'm', choices: zeros(100_000) }, '96,008'],
    ['completions of text', textCompletions, { model: 'm', choices: zeros(100_000) }, '96,008'],
    ['a chat', answerOfChat, { choices: zeros(100_000) }, '96,000'],
    ['SGLang', sglang, zeros(100_000), '96,008'],
    ['tokens', tokens, { tokens: zeros(50_000) }, '40,000'],
    ['models', models, { data: zeros(200_000) }, '100,000'],
    ['the base model', baseModel, { data: zeros(200_000) }, '100,000'],
  ])(
    'is refused by their count, before a schema makes a problem of each (%s)',
    async (_, ask: () => Promise<unknown>, body, limit) => {
      answer = inflated(body);
      const failure: unknown = await ask().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InvalidAnswer);
      const { message } = failure as Error;
      expect(message.length).toBeLessThan(200);
      expect(message).toContain(`: it has more than ${limit} values`);
    },
  );

  const wrong = Array<string>(9_000).fill('');
  it.each([
    ['choices', completions, { model: 'm', choices: wrong }],
    ['choices of text', textCompletions, { model: 'm', choices: wrong }],
    ['token ids', completions, { model: 'm', choices: [{ ...choice, token_ids: wrong }] }],
    ['ids of the prompt', completions, { model: 'm', choices: [{ ...choice, prompt_token_ids: wrong }] }],
    [
      'log-probabilities',
      completions,
      { model: 'm', choices: [{ ...choice, logprobs: { token_logprobs: wrong } }] },
    ],
    ['tool calls', answerOfChat, { choices: [{ message: { tool_calls: wrong } }] }],
    ['samples of SGLang', sglang, wrong],
    ['ids of SGLang', sglang, [{ ...sample, output_ids: wrong }]],
    [
      'log-probabilities of SGLang',
      sglang,
      [{ ...sample, meta_info: { ...sample.meta_info, output_token_logprobs: wrong } }],
    ],
    ['tokens', tokens, { tokens: wrong }],
    ['models', baseModel, { data: wrong }],
    [
      'likeliest tokens',
      () => createVllmAdapters(options()).likeliest('m', [[1]]),
      { choices: [{ logprobs: { top_logprobs: [{ ...wrong }] } }] },
    ],
    ['answers to canaries', () => createVllmAdapters(options()).likeliest('m', [[1]]), { choices: wrong }],
    [
      'likeliest tokens of SGLang',
      () => createSglangAdapters(options()).likeliest('m', [[1]]),
      [{ meta_info: { output_top_logprobs: [wrong] } }],
    ],
    ['answers of SGLang to canaries', () => createSglangAdapters(options()).likeliest('m', [[1]]), wrong],
  ])(
    'of which none is right is read to the first of them (%s)',
    async (_, ask: () => Promise<unknown>, body) => {
      answer = inflated(body);
      const failure: unknown = await ask().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InvalidAnswer);
      const { message } = failure as Error;
      expect(message.length).toBeLessThan(400);
      expect(message).toMatch(/0: Invalid input: expected \w+, received string$/);
    },
  );

  it('is read whole, if as many were asked for', async () => {
    const many = { ...largeRequest, n: 4, maxTokens: 20_000 };
    const ids = Array<number>(20_000).fill(151_643);
    const logprobs = {
      token_logprobs: Array<number>(20_000).fill(-1.5),
      tokens: Array<string>(20_000).fill('x'),
      top_logprobs: Array<object>(20_000).fill({ x: -1.5 }),
      text_offset: ids,
    };
    const choices = [0, 1, 2, 3].map((index) => ({ ...choice, index, token_ids: ids, logprobs }));
    answer = inflated({ model: 'm', choices });
    const drawn = await createCompletionsClient(options()).complete(many, never);
    expect(drawn.map(({ token_ids: { length } }) => length)).toEqual(Array(4).fill(20_000));
  });

  it('of a search endpoint is read to the first hits', async () => {
    answer = inflated({ results: [zeros(500_000), ...Array<string>(500_000).fill('hit')] });
    const hits = await search({ url: baseUrl, key: undefined }, 'q', never);
    expect(hits.length).toBe(99);
    expect(hits[98]).toEqual({ title: '', text: 'hit' });
  });
});

describe('an error of a server', () => {
  it('of megabytes stays what its status says', async () => {
    for (const [status, kind] of [
      [400, RequestRefused],
      [503, ModelUnavailable],
    ] as const) {
      answer = (_, response) => response.writeHead(status).end(`no: ${'x'.repeat(3_000_000)}`);
      const failure: unknown = await createCompletionsClient(options())
        .complete(request, never)
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(kind);
      expect((failure as Error).message).toContain('no: xx');
      expect((failure as Error).message.length).toBeLessThan(70_000);
    }
  });

  it('by which it sends requests elsewhere is no answer', async () => {
    let elsewhere = 0;
    answer = ({ url }, response) => {
      if (url?.startsWith('/elsewhere')) {
        elsewhere += 1;
        response.end(JSON.stringify(completion('x')));
      } else response.writeHead(307, { location: '/elsewhere' }).end();
    };
    await expect(createCompletionsClient(options()).complete(request, never)).rejects.toThrow(
      ModelUnavailable,
    );
    await expect(createCaller(options())('/models', undefined)).rejects.toThrow(ModelUnavailable);
    await expect(search({ url: baseUrl, key: undefined }, 'q', never)).rejects.toThrow();
    expect(elsewhere).toBe(0);
  });
});
