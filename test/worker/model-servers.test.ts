import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeSglang } from '../../test-support/fake-sglang.ts';
import { resolveLoopback } from '../../test-support/permitted-servers.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-servers-'));
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', join(folder, 'smollm2'));
  for (const name of ['smollm2', 'adapter']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'smollm2/config.json'), JSON.stringify({ max_position_embeddings: 8192 }));
  writeFileSync(
    join(folder, 'adapter/adapter_config.json'),
    JSON.stringify({ base_model_name_or_path: 'engine:smollm2' }),
  );
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const smollm2 = () => join(folder, 'smollm2');

/** A vLLM of a base model. */
async function serve(base: string, contextLength = 8192): Promise<FakeModelServer> {
  const server = await FakeModelServer.start({
    model: () => 'yes',
    baseModel: { name: 'base', folder: base },
    contextLength,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.adapters.load('agent', join(folder, 'adapter'));
  server.adapters.calls.length = 0;
  return server;
}

const clients = (vllmServer?: string) =>
  createModelClients({ policyServer: 'http://127.0.0.1:9/v1', vllmServer }, resolveLoopback, (_, send) =>
    send(),
  );
const request = (seed: number): CompletionRequest => ({
  model: 'agent',
  prompts: ['x'],
  n: 1,
  seed,
  temperature: 1,
  maxTokens: 4,
});
const ask = (policy: ReturnType<ReturnType<typeof createModelClients>['policyClient']>, seed: number) =>
  policy.complete(request(seed), new AbortController().signal);

test('the servers of the worker get their own tokens, and no other server does', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((received, response) => {
    seen.push(received.headers.authorization);
    response.writeHead(500).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const own = createModelClients(
    { policyServer: url, vllmServer: url },
    resolveLoopback,
    (_, send) => send(),
    { tokenOf: (name) => `token-of-${name}` },
  );
  for (const serving of [{ type: 'embedded' }, { type: 'vllm' }, { type: 'vllm', baseUrl: url }] as const)
    await expect(ask(own.policyClient(serving, 5_000), 0)).rejects.toMatchObject({
      name: 'ModelUnavailable',
    });
  expect(seen).toEqual([
    'Bearer token-of-GENENV_POLICY_TOKEN',
    'Bearer token-of-GENENV_VLLM_TOKEN',
    undefined,
  ]);
});

test('several addresses share the requests, and one that is away is passed over', async () => {
  const [first, second] = [await serve(smollm2()), await serve(smollm2())];
  const policy = clients().policyClient({ type: 'vllm', baseUrl: [first.url, second.url] }, 5_000);
  await Promise.all([0, 1, 2, 3, 4, 5].map((seed) => ask(policy, seed)));
  expect([first.requests.length, second.requests.length]).toEqual([3, 3]);

  await first[Symbol.asyncDispose]();
  for (const seed of [0, 1, 2, 3]) expect(await ask(policy, seed)).toMatchObject([{ text: 'yes' }]);
  expect(second.requests).toHaveLength(7);
  await second[Symbol.asyncDispose]();
  await expect(ask(policy, 0)).rejects.toMatchObject({ name: 'ModelUnavailable' });
});

test('a server that failed is tried again later, by one call, and then takes its share again', async () => {
  const [first, second] = [await serve(smollm2()), await serve(smollm2())];
  const policy = clients().policyClient({ type: 'vllm', baseUrl: [first.url, second.url] }, 5_000);
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const counts = () => [first.requests.length, second.requests.length];
  // Both requests to it fail at one time, which counts once.
  first.nextFaults.push('too many requests', 'server error');
  await Promise.all([0, 1, 2, 3].map((seed) => ask(policy, seed)));
  expect(counts()).toEqual([2, 4]);
  for (const seed of [0, 2]) await ask(policy, seed);
  expect(counts()).toEqual([2, 6]);

  // After a second, one call tries it; that fails, so the next try is two seconds later.
  vi.advanceTimersByTime(1_001);
  first.nextFaults.push('too many requests');
  await Promise.all([0, 2].map((seed) => ask(policy, seed)));
  expect(counts()).toEqual([3, 8]);
  vi.advanceTimersByTime(1_500);
  await ask(policy, 0);
  expect(counts()).toEqual([3, 9]);

  vi.advanceTimersByTime(600);
  await ask(policy, 0);
  await Promise.all([0, 1, 2, 3].map((seed) => ask(policy, seed)));
  expect(counts()).toEqual([6, 11]);
});

test('the length is that of the servers that answer', async () => {
  const servers = [await serve(smollm2(), 8192), await serve(smollm2(), 4096), await serve(smollm2(), 2048)];
  const policy = clients().policyClient({ type: 'vllm', baseUrl: servers.map(({ url }) => url) }, 5_000);
  const length = () => policy.contextLength('agent', new AbortController().signal);
  expect(await length()).toBe(2048);
  await servers[2]!.goAway();
  expect(await length()).toBe(4096);
  for (const server of servers.slice(0, 2)) await server.goAway();
  await expect(length()).rejects.toMatchObject({ name: 'ModelUnavailable' });
});

test('a server that lacks a policy after it was published is passed over', async () => {
  const [first, second] = [await serve(smollm2()), await serve(smollm2())];
  const policy = clients().policyClient({ type: 'vllm', baseUrl: [first.url, second.url] }, 5_000);
  first.adapters.unload('agent');
  // The first time it says so, since publishing may help.
  await expect(ask(policy, 0)).rejects.toMatchObject({ name: 'ModelNotServed' });
  for (const seed of [0, 1, 2, 3]) expect(await ask(policy, seed)).toMatchObject([{ text: 'yes' }]);
  // Where no other answers, it is published again.
  await second.goAway();
  await expect(ask(policy, 0)).rejects.toMatchObject({ name: 'ModelNotServed' });
  first.adapters.load('agent', join(folder, 'adapter'));
  expect(await ask(policy, 0)).toMatchObject([{ text: 'yes' }]);
  first.adapters.unload('agent');
  await expect(ask(policy, 0)).rejects.toMatchObject({ name: 'ModelNotServed' });
});

test('each prompt of a request goes to the server with the least to do, with the seed it would have on one', async () => {
  const servers = [await serve(smollm2()), await serve(smollm2())];
  const [first, second] = servers.map(({ url }) => url);
  const many = { ...request(7), n: 2, prompts: Array.from({ length: 10 }, (_, index) => `${index}=`) };
  const complete = (baseUrl: string | string[]) =>
    clients().policyClient({ type: 'vllm', baseUrl }, 5_000).complete(many, new AbortController().signal);
  const seedsByPrompt = () =>
    new Map(servers.flatMap(({ requests }) => requests).map(({ prompt, seed }) => [prompt[0], seed]));

  const alone = await complete(first!);
  const seeds = seedsByPrompt();
  expect(new Set(seeds.values()).size).toBe(10);
  for (const { requests } of servers) requests.length = 0;
  expect(await complete([first!, second!])).toEqual(alone);
  expect(servers.map(({ requests }) => requests.length)).toEqual([5, 5]);
  expect(seedsByPrompt()).toEqual(seeds);

  // One that breaks in the middle of a request costs the prompts that it had, which the other one answers.
  for (const { requests } of servers) requests.length = 0;
  servers[0]!.nextFaults.push(undefined, undefined, 'cut stream', 'cut stream', 'cut stream');
  expect(await complete([first!, second!])).toEqual(alone);
  expect(servers.map(({ requests }) => requests.length)).toEqual([5, 8]);
});

test('each address is a server of adapters', async () => {
  const [first, second] = [await serve(smollm2()), await serve(smollm2())];
  const servers = clients().adapterServers({ type: 'vllm', baseUrl: [first.url, second.url] });
  expect(servers.map(({ address }) => address)).toEqual([first.url, second.url]);
  for (const server of servers) await server.load('agent@0001', join(folder, 'adapter'));
  for (const { adapters } of [first, second])
    expect(adapters.calls).toEqual([{ call: 'load', name: 'agent@0001', folder: join(folder, 'adapter') }]);
});

test('without an address the managed server is asked, if its model is that of the adapter', async () => {
  const managed = await serve(smollm2());
  const load = (serving: { type: 'vllm'; maxModelLen?: number }, url = managed.url) =>
    clients(url).adapterServers(serving)[0]!.load('agent@0001', join(folder, 'adapter'));
  await load({ type: 'vllm' });
  expect(managed.adapters.calls).toHaveLength(1);
  expect(await ask(clients(managed.url).policyClient({ type: 'vllm' }, 5_000), 1)).toHaveLength(1);

  const models = vi.spyOn(managed.adapters, 'models');
  for (const body of [{}, 'no JSON', { data: [] }]) {
    models.mockReturnValueOnce({ status: 200, body });
    await expect(load({ type: 'vllm' })).rejects.toMatchObject({ name: 'ModelUnavailable' });
  }

  const another = await serve('/models/another');
  await expect(load({ type: 'vllm' }, another.url)).rejects.toMatchObject({
    name: 'ModelUnavailable',
    message: expect.stringMatching(
      /it serves \/models\/another, and the adapter is over .*smollm2/,
    ) as string,
  });
  expect(another.adapters.calls).toEqual([]);
  // With more room than the run's file says it serves the run, with less it does not.
  await load({ type: 'vllm', maxModelLen: 512 });
  const short = await serve(smollm2(), 4096);
  await expect(load({ type: 'vllm' }, short.url)).rejects.toThrow(
    "it takes 4096 tokens, and this run's file says 8192",
  );
  expect(short.adapters.calls).toEqual([]);
  const narrow = await serve(smollm2());
  narrow.adapters.nextReplies.push({ status: 500, body: 'LoRA rank 32 is greater than max_lora_rank 16.' });
  await expect(load({ type: 'vllm' }, narrow.url)).rejects.toMatchObject({
    name: 'ModelUnavailable',
    message: expect.stringContaining('started for another run') as string,
  });
});

test('a stack without vLLM says how to get one', () => {
  expect(() => clients().policyClient({ type: 'vllm' }, 5_000)).toThrow(
    /no vLLM runs in the stack.*genenv up FILE/,
  );
});

test('an SGLang is asked in its own dialect, and chats name the adapter behind a colon', async () => {
  const [first, second] = [
    await FakeSglang.start({ model: () => 'yes', chat: (_messages, _random, { model }) => `I am ${model}` }),
    await FakeSglang.start({ model: () => 'yes' }),
  ];
  onTestFinished(async () => {
    for (const server of [first, second]) await server[Symbol.asyncDispose]();
  });
  const serving = { type: 'sglang' as const, baseUrl: [first.url, `${second.url}/v1`] };
  for (const server of clients().adapterServers(serving)) await server.load('agent', join(folder, 'adapter'));
  const policy = clients().policyClient(serving, 5_000);
  await Promise.all([0, 1, 2, 3].map((seed) => ask(policy, seed)));
  expect([first.requests.length, second.requests.length]).toEqual([2, 2]);

  const messages = [{ role: 'user' as const, content: 'Who are you?' }];
  const question = { model: 'agent', messages, seed: 1, temperature: 1, maxTokens: 40 };
  const { text } = await clients()
    .chatClient({ ...serving, baseUrl: first.url }, 5_000)
    .answer(question, new AbortController().signal);
  expect(text).toBe('I am agent');
});
