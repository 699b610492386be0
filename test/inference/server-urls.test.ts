import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkSglang } from '../../src/cli/lib/sglang-checks.ts';
import { checkVllm } from '../../src/cli/lib/vllm-checks.ts';
import { createChatClient } from '../../src/inference/chat-client.ts';
import { createAdapterServer } from '../../src/inference/create-adapter-server.ts';
import { createPolicyClient } from '../../src/inference/create-policy-client.ts';
import type { ServerAddress } from '../../src/inference/server-urls.ts';
import { serverFetch, serverRoot } from '../../src/inference/server-urls.ts';
import { createSglangChatClient } from '../../src/inference/sglang-client.ts';
import { someRequest } from './some-request.ts';

const never = new AbortController().signal;
const chat = { model: 'm', messages: [], seed: 1, temperature: 1, maxTokens: 4 };
const sglang = { type: 'sglang', baseUrl: '' } as const;
const vllm = { type: 'vllm', baseUrl: '' } as const;

/** Everything that a worker or `genenv doctor` asks a server. */
const requests: Record<string, (server: ServerAddress) => Promise<unknown>> = {
  'a policy on vLLM': async (server) => askPolicy(createPolicyClient(vllm, server)),
  'a policy on SGLang': async (server) => askPolicy(createPolicyClient(sglang, server)),
  'adapters on vLLM': async (server) => askAdapters(createAdapterServer(vllm, server)),
  'adapters on SGLang': async (server) => askAdapters(createAdapterServer(sglang, server)),
  'chat completions': async (server) => createChatClient(server).answer(chat, never),
  'chat completions of SGLang': async (server) => createSglangChatClient(server).answer(chat, never),
  'the check of a vLLM': async ({ baseUrl, apiKey }) =>
    checkVllm(baseUrl, apiKey, {
      settings: { model: 'm', maxLoraRank: 8 } as never,
      ...{ prompts, structure: {}, store: undefined, isManaged: false },
    }),
  'the check of an SGLang': async ({ baseUrl, apiKey }) =>
    checkSglang(baseUrl, apiKey, { rank: 8, prompts, structure: { grammar: 'root ::= "a"' } }),
};
const prompts = [{ role: 'agent', text: 'a', maxTokens: 1 }];

const askPolicy = async (client: ReturnType<typeof createPolicyClient>) =>
  Promise.allSettled([
    client.complete(someRequest, never),
    client.tokenize('m', 'a', never),
    client.promptLength('m', 'a', never),
    client.contextLength('m', never),
  ]);
const askAdapters = async (server: ReturnType<typeof createAdapterServer>) =>
  Promise.allSettled([server.load('a', '/a'), server.unload('a'), server.likeliest(null, [[1]])]);

/** A server that answers everything, and notes the key and the path of each request, and its headers. */
async function someServer(): Promise<{ origin: string; lines: string[]; headers: IncomingHttpHeaders[] }> {
  const lines: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const answer = JSON.stringify({
    data: [{ id: 'm' }],
    tokens: [1],
    count: 1,
    version: '1',
    enable_lora: true,
  });
  const server = createServer((request, response) => {
    lines.push(`${request.headers.authorization} ${request.url}`);
    headers.push(request.headers);
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lines, headers };
}

describe.each(Object.entries(requests))('requests of %s', (_, ask) => {
  it.each([
    ['/team-a/v1', '/team-a/'],
    ['/team-a/v1/', '/team-a/'],
    ['/team-a', '/team-a/'],
    ['/team-a/v1/models-of-b', '/team-a/v1/models-of-b/'],
    ['/v1', '/'],
    ['', '/'],
  ])('to %j go to paths below %j alone', async (path, below) => {
    const { origin, lines } = await someServer();
    await ask({ baseUrl: `${origin}${path}`, apiKey: 'the-key', timeoutMs: 5_000 }).catch(() => undefined);
    expect(lines).not.toEqual([]);
    for (const request of lines) expect(request.startsWith(`Bearer the-key ${below}`), request).toBe(true);
  });
});

describe('the environment of the worker', () => {
  const variables = {
    OPENAI_API_KEY: 'sk-canary',
    OPENAI_ADMIN_KEY: 'sk-canary',
    OPENAI_ORG_ID: 'org-canary',
    OPENAI_PROJECT_ID: 'proj-canary',
    OPENAI_WEBHOOK_SECRET: 'whsec-canary',
    OPENAI_CUSTOM_HEADERS: 'Authorization: Bearer gateway-canary\nX-Api-Key: header-canary',
    OPENAI_BASE_URL: 'http://127.0.0.1:9/canary',
    OPENAI_LOG: 'debug',
  };
  it.each(Object.entries(requests))('is in no header of requests of %s', async (_, ask) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { origin, headers } = await someServer();
    for (const apiKey of ['the-key', undefined])
      await ask({ baseUrl: `${origin}/v1`, apiKey, timeoutMs: 5_000 }).catch(() => undefined);
    expect(headers).not.toEqual([]);
    expect(JSON.stringify(headers)).not.toContain('canary');
    const keys = new Set(headers.map(({ authorization }) => authorization));
    expect(keys).toEqual(new Set(['Bearer the-key', undefined]));
    expect(new Set(headers.flatMap((sent) => Object.keys(sent)))).not.toContain('x-stainless-os');
  });
});

describe('a server whose answer never ends', () => {
  const ofWorkers = Object.entries(requests).filter(([what]) => !what.startsWith('the check'));
  it.each(ofWorkers)('holds requests of %s no longer than their limit', async (_, ask) => {
    const server = createServer((request, response) => {
      request.resume();
      response.setHeader('content-type', 'application/json').write('{');
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const [settled] = await Promise.allSettled([ask({ baseUrl, apiKey: undefined, timeoutMs: 200 })]);
    const ends =
      settled.status === 'rejected' ? [settled] : (settled.value as PromiseSettledResult<unknown>[]);
    expect(ends).not.toEqual([]);
    for (const end of ends)
      expect(end).toMatchObject({
        status: 'rejected',
        reason: {
          name: 'ModelUnavailable',
          reason: expect.stringMatching(/^no answer in (time|0\.2 s)$/) as string,
        },
      });
  });
});

describe('the root of a server', () => {
  it.each([
    ['https://host/v1', 'https://host'],
    ['https://host/v1/', 'https://host'],
    ['https://host/', 'https://host'],
    ['https://host/team-a/v1', 'https://host/team-a'],
    ['https://host/team-a/', 'https://host/team-a'],
    ['https://host/v10', 'https://host/v10'],
    ['https://host/v1/v1', 'https://host/v1'],
    ['https://v1', 'https://v1'],
    ['https://v1/', 'https://v1'],
  ])('%s is %s', (address, root) => expect(serverRoot(address)).toBe(root));

  it('is not left by a request', async () => {
    const { origin, lines } = await someServer();
    const fetch = serverFetch({ baseUrl: `${origin}/team-a/v1`, apiKey: undefined, timeoutMs: 5_000 });
    const urls = ['/team-b/v1', '/team-a2', '/', '/team-a/../team-b'].map((path) => `${origin}${path}`);
    for (const url of [...urls, 'http://127.0.0.1:9/team-a/v1'])
      await expect(fetch(url)).rejects.toThrow(`a request to ${new URL(url).href}, which is not below`);
    expect(lines).toEqual([]);
    expect((await fetch(`${origin}/team-a/tokenize`)).status).toBe(200);
  });
});
