import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Check } from '../../src/cli/lib/check.ts';
import { checksOn, emptyHome, find, missingIn, stateOf } from './file-checks.ts';
import { failure, serve } from './vllm-with-flags.ts';
import type { FakeVllm } from './vllm-with-flags.ts';

/** Of one that sees another disk. */
const elsewhere = failure(404, 'Loading lora genenv-doctor failed: No adapter found for /a');

async function checksOf(fake: FakeVllm, fields: Record<string, unknown> = {}): Promise<Check[]> {
  const home = emptyHome();
  mkdirSync(join(home, 'store'));
  return checksOn({ type: 'vllm', baseUrl: (await serve(fake)).url }, fields, home);
}

describe('a vLLM elsewhere', () => {
  test('that has everything is ok in every line, and each policy’s rank is tried', async () => {
    const { url, ranks } = await serve();
    const checks = await checksOn({ type: 'vllm', baseUrl: [url] });
    expect(stateOf(checks)).toMatchObject({
      server: 'ok',
      'Base model': 'ok',
      Length: 'ok',
      Adapters: 'ok',
      'Token ids': 'ok',
      'Log-probabilities': 'ok',
      Sampling: 'ok',
      Seeds: 'note',
    });
    expect(ranks).toEqual([8]);
    expect(find(checks, 'Seeds')?.finding).toContain('--no-enable-chunked-prefill');
    expect(find(checks, 'Seeds')?.finding).toContain('VLLM_SERVER_DEV_MODE=1');
  });

  test.each<[string, FakeVllm, { what: string; finding: RegExp; remedy: RegExp }]>([
    [
      'too short',
      { maxModelLen: 32 },
      {
        what: 'Length',
        finding: /32 tokens; prompt and answer take simulator/,
        remedy: /--max-model-len \d+ or more/,
      },
    ],
    [
      'without LoRA',
      { adapter: failure(500, 'LoRA is not enabled. Use --enable-lora to enable LoRA.') },
      { what: 'Adapters', finding: /LoRA is not enabled/, remedy: /--enable-lora --max-lora-rank 8/ },
    ],
    [
      'without loading at run time',
      { adapter: { status: 404, body: { detail: 'Not Found' } } },
      {
        what: 'Adapters',
        finding: /cannot be loaded while it runs/,
        remedy: /VLLM_ALLOW_RUNTIME_LORA_UPDATING=True/,
      },
    ],
    [
      'of a smaller rank',
      { adapter: failure(500, "Worker failed with error 'LoRA rank 8 is greater than max_lora_rank 1.'") },
      {
        what: 'Adapters',
        finding: /^LoRA rank 8 is greater than max_lora_rank 1$/,
        remedy: /--max-lora-rank 8/,
      },
    ],
    [
      'that sees another disk',
      { adapter: elsewhere },
      { what: 'Adapters', finding: /the server cannot read/, remedy: /same absolute path/ },
    ],
    [
      'with raw log-probabilities',
      { logprobs: 'raw' },
      { what: 'Log-probabilities', finding: /before sampling/, remedy: /--logprobs-mode processed_logprobs/ },
    ],
    [
      'without token ids',
      { tokenIds: false },
      { what: 'Token ids', finding: /not returned/, remedy: /return_token_ids/ },
    ],
    [
      'with the model’s sampling',
      { modelDefaults: true },
      { what: 'Sampling', finding: /model’s folder is applied/, remedy: /--generation-config vllm/ },
    ],
    [
      'on a processor that reads prompts in parts',
      {
        info: {
          vllm_config: {
            device_config: { device: 'cpu' },
            scheduler_config: { enable_chunked_prefill: true },
          },
        },
      },
      { what: 'Seeds', finding: /kills the engine/, remedy: /--no-enable-chunked-prefill/ },
    ],
  ])('%s: what is wrong and the flag to set', async (_, fake, { what, finding, remedy }) => {
    const checks = await checksOf(fake);
    const wrong = missingIn(checks);
    expect(wrong.map(({ what: name }) => name)).toEqual([what]);
    expect(wrong[0]?.finding).toMatch(finding);
    expect(wrong[0]?.remedy).toMatch(remedy);
  });

  test('that refuses the grammar of the world, or another model’s folder', async () => {
    const world = { world: { type: 'programs' } };
    expect(stateOf(await checksOf({}, world))).toMatchObject({ 'Structured output': 'ok' });
    expect(stateOf(await checksOf({ structured: 400 }, world))).toMatchObject({
      'Structured output': 'missing',
    });
    expect(find(await checksOf({ root: '/mnt/other' }), 'Base model')).toMatchObject({
      state: 'note',
      finding: '/mnt/other on the server, /models/small here: they must be the same model',
    });
  });

  test('that cannot read where there is no store yet is no reason against a first run', async () => {
    const { url } = await serve({ adapter: elsewhere });
    expect(find(await checksOn({ type: 'vllm', baseUrl: url }), 'Adapters')).toMatchObject({
      state: 'note',
      finding: expect.stringMatching(/the server cannot read .*, and there is no store yet$/) as string,
    });
  });

  test.each([{}, { data: [] }, { data: [{ id: 3 }] }, []])('that lists %j as its models', async (models) => {
    expect(missingIn(await checksOf({ models }))).toMatchObject([
      { finding: expect.stringMatching(/^gave another answer than expected: models of http/) as string },
    ]);
  });

  test('that is away, and a key that is not set', async () => {
    const away = await checksOn({ type: 'vllm', baseUrl: 'http://127.0.0.1:9/v1' });
    expect(find(away, 'http')).toMatchObject({
      state: 'missing',
      finding: expect.stringContaining('does not answer') as string,
    });
    const keyless = await checksOn({
      type: 'vllm',
      baseUrl: 'http://127.0.0.1:9/v1',
      apiKeyEnv: 'NO_SUCH_KEY',
    });
    expect(find(keyless, 'Endpoint')).toMatchObject({
      state: 'missing',
      finding: expect.stringContaining('add NAME http://127.0.0.1:9 --key-env NO_SUCH_KEY') as string,
    });
  });

  test('of the older kind is asked the same if adapters are published to it, else for its models', async () => {
    const { url } = await serve({ logprobs: 'raw' });
    const openai = { type: 'openai', baseUrl: url, returnsTokenIds: true };
    const published = await checksOn({ ...openai, publish: 'vllm-lora' });
    expect(find(published, 'Log-probabilities')?.state).toBe('missing');
    const frozen = await checksOn(
      { ...openai, publish: 'none', models: { agent: 'base', environment: 'writer' } },
      { arm: { type: 'random' }, 'agent.training': null, 'environment.training': null },
    );
    expect(find(frozen, 'Model server')).toMatchObject({
      state: 'missing',
      finding: `${url} does not serve writer`,
    });
  });
});
