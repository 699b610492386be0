import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';

interface FakeServer {
  url: string;
  requests: string[];
  close: () => Promise<void>;
}

/** A server of a base model, its adapters by name, that notes what it is asked. */
async function serve(base: { root: string; max_model_len: number }, refusal?: string): Promise<FakeServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const path = request.url ?? '';
      requests.push(path);
      if (path === '/v1/models')
        response.end(JSON.stringify({ data: [{ id: 'base', parent: null, ...base }] }));
      else if (path === '/v1/load_lora_adapter' && refusal !== undefined)
        response.writeHead(500).end(refusal);
      else if (path === '/v1/load_lora_adapter') response.end('Success');
      else {
        const { model } = JSON.parse(body) as { model: string };
        const choice = {
          index: 0,
          text: 'yes',
          finish_reason: 'stop',
          token_ids: [5],
          prompt_token_ids: [4],
        };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ model, choices: [{ ...choice, logprobs: { token_logprobs: [-1] } }] }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, close };
}

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

const smollm2 = () => ({ root: join(folder, 'smollm2'), max_model_len: 8192 });
const clients = (vllmServer?: string) =>
  createModelClients({ policyServer: 'http://127.0.0.1:9/v1', vllmServer }, {}, (_, request) => request());
const request = (seed: number): CompletionRequest => ({
  model: 'agent@0001',
  prompts: ['x'],
  n: 1,
  seed,
  temperature: 1,
  maxTokens: 4,
});
const ask = (policy: ReturnType<ReturnType<typeof createModelClients>['policyClient']>, seed: number) =>
  policy.complete(request(seed), new AbortController().signal);

test('several addresses share the requests, and one that is away is passed over', async () => {
  const [first, second] = [await serve(smollm2()), await serve(smollm2())];
  const policy = clients().policyClient({ type: 'vllm', baseUrl: [first.url, second.url] }, 5_000);
  await Promise.all([0, 1, 2, 3, 4, 5].map((seed) => ask(policy, seed)));
  expect([first.requests.length, second.requests.length]).toEqual([3, 3]);

  await first.close();
  for (const seed of [0, 1, 2, 3]) expect(await ask(policy, seed)).toMatchObject([{ text: 'yes' }]);
  expect(second.requests).toHaveLength(7);
  await second.close();
  await expect(ask(policy, 0)).rejects.toMatchObject({ name: 'ModelUnavailable' });
});

test('an adapter goes to every server; one that is away gets it later', async () => {
  const [first, second] = [await serve(smollm2()), await serve(smollm2())];
  const serving = { type: 'vllm' as const, baseUrl: [first.url, second.url] };
  await clients().loadOnServer(serving, 'agent@0001', join(folder, 'adapter'));
  expect([first.requests, second.requests]).toEqual([['/v1/load_lora_adapter'], ['/v1/load_lora_adapter']]);
  await first.close();
  await clients().loadOnServer(serving, 'agent@0002', join(folder, 'adapter'));
  expect(second.requests).toHaveLength(2);
  await second.close();
  await expect(clients().loadOnServer(serving, 'agent@0003', join(folder, 'adapter'))).rejects.toMatchObject({
    name: 'ModelUnavailable',
  });
});

test('without an address the managed server is asked, if its model is that of the adapter', async () => {
  const managed = await serve(smollm2());
  const load = (serving: { type: 'vllm'; maxModelLen?: number }, url = managed.url) =>
    clients(url).loadOnServer(serving, 'agent@0001', join(folder, 'adapter'));
  await load({ type: 'vllm' });
  expect(managed.requests).toEqual(['/v1/models', '/v1/load_lora_adapter']);
  expect(await ask(clients(managed.url).policyClient({ type: 'vllm' }, 5_000), 1)).toHaveLength(1);

  const another = await serve({ root: '/models/another', max_model_len: 8192 });
  await expect(load({ type: 'vllm' }, another.url)).rejects.toMatchObject({
    name: 'ModelUnavailable',
    message: expect.stringMatching(
      /it serves \/models\/another, and the adapter is over .*smollm2/,
    ) as string,
  });
  expect(another.requests).toEqual(['/v1/models']);
  await expect(load({ type: 'vllm', maxModelLen: 512 })).rejects.toThrow(
    "it takes 8192 tokens, and this run's file says 512",
  );
  const narrow = await serve(smollm2(), 'LoRA rank 32 is greater than max_lora_rank 16.');
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
