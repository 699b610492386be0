import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeSglang } from '../../test-support/fake-sglang.ts';
import type { FakeSglangOptions } from '../../test-support/fake-sglang.ts';
import { checksOn, find, missingIn, stateOf } from './file-checks.ts';
import { serve } from './vllm-with-flags.ts';

describe('an SGLang elsewhere', () => {
  const flags = { enable_lora: true, max_lora_rank: 8 };
  const sglangChecks = async (options: Partial<FakeSglangOptions> = {}, refusals: string[] = []) => {
    const server = await FakeSglang.start({ model: () => 'yes', serverArguments: flags, ...options });
    onTestFinished(() => server[Symbol.asyncDispose]());
    server.nextRefusals.push(...refusals);
    return checksOn({ type: 'sglang', baseUrl: server.url }, { world: { type: 'programs' } });
  };

  test('that has everything is ok in every line', async () => {
    expect(stateOf(await sglangChecks({ contextLength: 512 }))).toMatchObject({
      server: 'ok',
      Length: 'ok',
      Adapters: 'ok',
      'Log-probabilities': 'ok',
      Seeds: 'ok',
      'Structured output': 'ok',
    });
  });

  test.each<[string, Partial<FakeSglangOptions>, string, RegExp, RegExp]>([
    ['too short', { contextLength: 32 }, 'Length', /^32 tokens; prompt/, /--context-length \d+ or more/],
    [
      'without LoRA',
      { serverArguments: { enable_lora: null } },
      'Adapters',
      /LoRA is not enabled/,
      /--enable-lora --max-lora-rank 8 --lora-target-modules all/,
    ],
    [
      'of a smaller rank',
      { serverArguments: { ...flags, max_lora_rank: 4 } },
      'Adapters',
      /up to rank 4; needed: 8/,
      /--max-lora-rank 8/,
    ],
    [
      'with log-probabilities before the temperature',
      { originalLogprobs: true },
      'Log-probabilities',
      /before sampling/,
      /without SGLANG_RETURN_ORIGINAL_LOGPROB/,
    ],
  ])('%s: what is wrong and the flag to set', async (_, options, what, ...texts) => {
    const [finding, remedy] = texts;
    const checks = await sglangChecks({ contextLength: 512, ...options });
    const wrong = missingIn(checks);
    expect(wrong.map(({ what: name }) => name)).toEqual([what]);
    expect(wrong[0]?.finding).toMatch(finding);
    expect(wrong[0]?.remedy).toMatch(remedy);
  });

  test('that does not look at seeds, or refuses the grammar of the world', async () => {
    expect(find(await sglangChecks({ isDeterministic: false }), 'Seeds')).toMatchObject({
      state: 'note',
      remedy: expect.stringContaining('--enable-deterministic-inference') as string,
    });
    expect(stateOf(await sglangChecks({}, ['Invalid grammar']))).toMatchObject({
      'Structured output': 'missing',
    });
  });

  test('that is no SGLang but another server, or away', async () => {
    const { url } = await serve();
    const mistaken = await checksOn({ type: 'sglang', baseUrl: url });
    expect(find(mistaken, 'http')).toMatchObject({
      state: 'missing',
      remedy: 'correct serving.type and serving.baseUrl',
    });
    const away = await checksOn({ type: 'sglang', baseUrl: 'http://127.0.0.1:9' });
    expect(find(away, 'http')?.finding).toContain('does not answer');
  });
});
