import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, onTestFinished, test } from 'vitest';
import { rememberKeys, withoutSentKeys } from '../../src/async/sent-keys.ts';
import { search } from '../../src/benchmarks/bamboogle/search-endpoint.ts';
import { plainText } from '../../src/formats/plain-text.ts';
import { createChatClient } from '../../src/inference/chat-client.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import type { ServerAddress } from '../../src/inference/server-urls.ts';
import { createSglangAdapters } from '../../src/inference/sglang-adapters.ts';
import { createSglangClient } from '../../src/inference/sglang-client.ts';
import { createVllmAdapters } from '../../src/inference/vllm-adapters.ts';
import { failureConverter } from '../../src/temporal/plain-failure-converter.ts';
import { errorText } from '../../src/telemetry/error-text.ts';
import { toFailure } from '../../src/worker/activity-interceptor.ts';
import { someRequest } from '../inference/some-request.ts';

const { signal } = new AbortController();
const question = { model: 'm', seed: 1, temperature: 1, maxTokens: 4 };
const messages = [{ role: 'user' as const, content: 'x' }];

const requests: Record<string, (server: ServerAddress) => Promise<unknown>> = {
  completions: (server) => createCompletionsClient(server).complete(someRequest, signal),
  tokens: (server) => createCompletionsClient(server).tokenize('m', 'x', signal),
  'a context length': (server) => createCompletionsClient(server).contextLength('m', signal),
  chat: (server) => createChatClient(server).answer({ ...question, messages }, signal),
  'completions of SGLang': (server) =>
    createSglangClient(server).complete({ ...someRequest, prompts: [[1]], n: 1 }, signal),
  'an adapter of vLLM': (server) => createVllmAdapters(server).load('n', '/f'),
  'the end of an adapter of vLLM': (server) => createVllmAdapters(server).unload('n'),
  'the likeliest tokens of vLLM': (server) => createVllmAdapters(server).likeliest('n', [[1]]),
  'an adapter of SGLang': (server) => createSglangAdapters(server).load('n', '/f'),
  'the likeliest tokens of SGLang': (server) => createSglangAdapters(server).likeliest('n', [[1]]),
  search: ({ baseUrl, apiKey }) => search({ url: baseUrl, key: apiKey }, 'x', signal),
};

/** Answers that repeat what was sent, by the field that holds it and by the form of the answer. */
const answers: Record<string, (key: string) => string> = {
  'an error': (key) => JSON.stringify({ error: { message: `refused: ${key}` } }),
  'no JSON': (key) => key,
  'JSON with a fault': (key) => `{"a": ${key}`,
  'JSON with a fault after the key': (key) => `["${key}",x]`,
  'names of fields': (key) =>
    JSON.stringify({ [key]: 1, choices: [{ logprobs: { top_logprobs: [{ [key]: key }] }, [key]: 1 }] }),
  'a sample that was given up': (key) =>
    JSON.stringify([
      {
        text: '',
        output_ids: [],
        meta_info: { prompt_tokens: 1, finish_reason: { type: 'abort', message: key } },
      },
    ]),
  'escaped slashes': (key) => `{"message":"${key.replaceAll('/', '\\/')}"}`,
};

const keyOf = ({ headers }: IncomingMessage): string =>
  String(headers.authorization ?? headers['x-api-key']).replace('Bearer ', '');

async function echo(status: number, answer: (key: string) => string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(answer(keyOf(request)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** What Temporal keeps of an error, and what the log says of it. */
function everything(error: unknown): string {
  const failure = failureConverter.errorToFailure(toFailure(error), defaultPayloadConverter);
  const details = failure.applicationFailureInfo?.details?.payloads ?? [];
  const decoded = details.map(({ data }) => Buffer.from(data!).toString());
  return [JSON.stringify(failure), ...decoded, errorText(error)].join('\n');
}

const statuses = [200, 201, 400, 401, 404, 429, 500];
const cases = statuses.flatMap((status) => Object.keys(answers).map((form) => [status, form] as const));

test.each(cases)(
  'a key that a server repeats in an answer %i as %s is in no failure',
  async (status, form) => {
    const apiKey = 'sk-canary/0815/a-long-key';
    const parts = Array.from({ length: apiKey.length - 7 }, (_, start) => apiKey.slice(start, start + 8));
    const baseUrl = await echo(status, answers[form]!);
    const errors: [string, unknown][] = [];
    for (const [what, ask] of Object.entries(requests)) {
      const [settled] = await Promise.allSettled([ask({ baseUrl, apiKey, timeoutMs: 5_000 })]);
      if (settled.status === 'rejected') errors.push([what, settled.reason]);
    }
    expect(errors).not.toEqual([]);
    for (const [what, error] of errors) {
      const text = everything(error).replaceAll('\\', '');
      for (const part of parts) expect(text, `${what}: ${part}`).not.toContain(part);
    }
  },
);

describe('a text for people', () => {
  const key = 'zq-secret/of+a-test';
  rememberKeys(new Headers({ authorization: `Bearer ${key}` }));
  rememberKeys(new Headers({ 'x-api-key': 'zq-secret/of+a-test-and-longer' }));
  rememberKeys(new Headers({ authorization: 'Bearer none' }));

  test.each([
    ['a key', `got ${key}, and ${key}`, 'got (key), and (key)'],
    ['a key that another begins with', `${key}-and-longer`, '(key)'],
    ['a key as JSON writes it', `{"key":"${key.replace('/', '\\/')}"}`, '{"key":"(key)"}'],
    ['a text that was cut in a key', 'got zq-secret...', 'got (key)...'],
    ['what keys begin with', 'zq-secre is no key', '(key) is no key'],
    ['less of it', 'zq-secr is no key', 'zq-secr is no key'],
    ['keys that begin alike', 'got zq-secret/one.AA, zq-secret/two\\/BB.', 'got (key), (key).'],
    ['a word that stands for no key', 'none of them', 'none of them'],
  ])('has no keys: %s', (_, text, expected) => {
    expect(withoutSentKeys(text)).toBe(expected);
    expect(plainText(text)).toBe(expected);
  });

  test('has no key, however long what follows is', () => {
    expect(withoutSentKeys(`got zq-secret/${'a'.repeat(15_000_000)}.`)).toBe('got (key).');
  });

  test('has no key where it was cut', () => {
    expect(plainText(`${'x'.repeat(1_985)}${key}${'y'.repeat(100)}`)).not.toContain('zq-secre');
  });
});
