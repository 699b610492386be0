import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Check } from '../../src/cli/lib/check.ts';
import { checkVllm } from '../../src/cli/lib/vllm-checks.ts';
import { isAlive } from '../../src/runtime/process-identity.ts';
import { BASE_MODEL } from '../../src/dev-stack/vllm-settings.ts';
import type { VllmSettings } from '../../src/dev-stack/vllm-settings.ts';
import { hasVllm, ManagedVllm } from '../../test-support/managed-vllm.ts';

/**
 * The vLLM of the embedded stack, real, with the flags that a file's settings give. One server for all tests:
 * it takes a minute to start, more on a busy machine.
 */
const MINUTES = 60_000;
const settings: VllmSettings = {
  model: 'engine:smollm2',
  precision: 'float32',
  maxLoraRank: 16,
  maxModelLen: 1024,
};

describe.skipIf(!hasVllm)('the vLLM of the stack (npm run engines -- smollm2 vllm)', () => {
  let server: ManagedVllm;
  beforeAll(async () => {
    server = new ManagedVllm(settings);
    await server.start();
  }, 15 * MINUTES);
  afterAll(() => server[Symbol.asyncDispose](), MINUTES);

  const authorization = () => ({ authorization: `Bearer ${server.token}` });
  const complete = async (body: object): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${server.url}/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization() },
      body: JSON.stringify({ model: BASE_MODEL, temperature: 1, ...body }),
    });
    return { status: response.status, text: await response.text() };
  };
  const doctor = (changes: Partial<VllmSettings> = {}, prompt = 'Say yes.'): Promise<Check[]> =>
    checkVllm(server.url, server.token, {
      settings: { ...settings, ...changes },
      prompts: [{ role: 'agent', text: prompt, maxTokens: 64 }],
      structure: { structured_outputs: { grammar: 'root ::= "yes" | "no"' } },
      store: server.store,
      isManaged: true,
    });
  const wrong = (checks: readonly Check[]) => checks.filter(({ state }) => state !== 'ok');

  test('says that it takes a while, and what it serves', () => {
    expect(server.said[0]).toMatch(
      /^vLLM: serving engine:smollm2 in float32, LoRA rank 16, 1024 tokens; this takes about a minute/,
    );
  });

  test('answers nobody without its token, who may see that it is healthy', async () => {
    const address = server.url.replace(/\/v1$/, '');
    for (const path of ['/v1/models', '/v1/completions', '/v1/load_lora_adapter'])
      expect(
        (await fetch(`${address}${path}`, { method: path === '/v1/models' ? 'GET' : 'POST' })).status,
      ).toBe(401);
    expect((await fetch(`${address}/health`)).status).toBe(200);
  });

  test(
    'has all that the doctor asks for, and gets no adapter from that',
    { timeout: 5 * MINUTES },
    async () => {
      expect(wrong(await doctor())).toEqual([]);
      const models = await (await fetch(`${server.url}/models`, { headers: authorization() })).json();
      expect(models).toMatchObject({ data: [{ id: BASE_MODEL }] });
      expect((models as { data: unknown[] }).data).toHaveLength(1);
    },
  );

  test(
    'is told from one of a smaller rank, of a shorter length, of another model',
    { timeout: 5 * MINUTES },
    async () => {
      expect(wrong(await doctor({ maxLoraRank: 64 }))).toMatchObject([
        {
          what: 'Adapters',
          finding: 'LoRA rank 64 is greater than max_lora_rank 16',
          remedy: 'start it with --max-lora-rank 64',
        },
      ]);
      expect(wrong(await doctor({ maxModelLen: 2048 }))).toMatchObject([
        { what: 'Length', state: 'missing' },
      ]);
      expect(wrong(await doctor({}, 'word '.repeat(1200)))).toMatchObject([
        {
          what: 'Length',
          finding: expect.stringMatching(/^1,024 tokens; prompt and answer take agent 1,2\d\d$/) as string,
        },
      ]);
      expect(wrong(await doctor({ model: '/models/other' }))).toMatchObject([
        { what: 'Base model', state: 'note' },
      ]);
    },
  );

  test(
    'answers many long prompts with seeds at a time: none is read in parts',
    { timeout: 20 * MINUTES },
    async () => {
      // More tokens than one step of the engine takes, in prompts that share nothing.
      const prompts = Array.from({ length: 24 }, (_, index) => `${index} `.repeat(230));
      const answers = await Promise.all(
        prompts.map((prompt, seed) => complete({ prompt, seed, n: 2, max_tokens: 4 })),
      );
      expect(answers.map(({ status }) => status)).toEqual(prompts.map(() => 200));
    },
  );

  test(
    'is started again on its port when it is killed, and its engine does not outlive it',
    { timeout: 15 * MINUTES },
    async () => {
      const { url, recorded: before } = server;
      process.kill(before.pid, 'SIGKILL');
      await vi.waitFor(() => expect(server.said.at(-1)).toMatch(/^vLLM: ready again after/), {
        timeout: 14 * MINUTES,
        interval: 500,
      });
      expect(server.said.join('\n')).toContain('vLLM ended by SIGKILL; starting it again');
      expect(isAlive(before)).toBe(false);
      expect(() => process.kill(-before.pid, 0)).toThrow('ESRCH');
      expect(server.url).toBe(url);
      expect((await complete({ prompt: 'Hello', seed: 1, max_tokens: 2 })).status).toBe(200);
    },
  );
});
