import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Check } from '../../src/cli/lib/check.ts';
import { checkExperiment } from '../../src/cli/lib/file-checks.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { FakeSglang } from '../../test-support/fake-sglang.ts';
import type { FakeSglangOptions } from '../../test-support/fake-sglang.ts';

/** Answers of a real vLLM 0.32, right flags and wrong ones. */
interface FakeVllm {
  root?: string;
  maxModelLen?: number;
  /** What it answers to an adapter that has settings and no weights. */
  adapter?: { status: number; body: object };
  logprobs?: 'processed' | 'raw';
  tokenIds?: boolean;
  /** Whether it applies what the model's folder says of sampling. */
  modelDefaults?: boolean;
  info?: object;
  structured?: number;
}

const failure = (status: number, message: string) => ({
  status,
  body: { error: { message, type: 'InternalServerError', param: null, code: status } },
});
const noTensors = failure(
  500,
  "Call to add_lora method failed: Worker failed with error '/a doesn't contain tensors'",
);

async function serve(fake: FakeVllm = {}): Promise<{ url: string; ranks: number[] }> {
  const ranks: number[] = [];
  const answer = (path: string, body: Record<string, unknown>): { status: number; body: object } => {
    const { root = '/models/small', maxModelLen = 512, logprobs = 'processed', tokenIds = true } = fake;
    switch (path) {
      case '/v1/models':
        return {
          status: 200,
          body: { data: [{ id: 'base', root, parent: null, max_model_len: maxModelLen }] },
        };
      case '/version':
        return { status: 200, body: { version: '0.32.0' } };
      case '/server_info?config_format=json':
        return fake.info === undefined
          ? { status: 404, body: { detail: 'Not Found' } }
          : { status: 200, body: fake.info };
      case '/tokenize':
        return { status: 200, body: { count: String(body.prompt).length } };
      case '/v1/load_lora_adapter': {
        const config = readFileSync(join(String(body.lora_path), 'adapter_config.json'), 'utf8');
        ranks.push((JSON.parse(config) as { r: number }).r);
        return fake.adapter ?? noTensors;
      }
      default: {
        if ('response_format' in body || 'structured_outputs' in body)
          return fake.structured === undefined
            ? { status: 200, body: {} }
            : failure(fake.structured, 'no such grammar');
        const isNeutral = 'top_p' in body || fake.modelDefaults !== true;
        const temperature = logprobs === 'processed' ? Number(body.temperature) : 1;
        const top = isNeutral ? -1 * temperature : -0.2;
        const ids = tokenIds ? { token_ids: [1], prompt_token_ids: [2] } : {};
        return {
          status: 200,
          body: { choices: [{ ...ids, logprobs: { top_logprobs: [{ a: top, b: top - 3 }] } }] },
        };
      }
    }
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString()));
    request.on('end', () => {
      const { status, body } = answer(
        request.url ?? '',
        text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      );
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, ranks };
}

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'genenv-doctor-'));
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', '');
  vi.stubEnv('XDG_CACHE_HOME', join(home, 'cache'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const experimentOn = (serving: object, fields: Record<string, unknown> = {}) => {
  const model = { type: 'pretrained', path: '/models/small', adapter: { r: 8 } };
  return parseExperiment(
    withFields(exampleFile, { 'agent.model': model, 'environment.model': model, serving, ...fields }),
  );
};
const context = () => ({
  env: { GENENV_HOME: home },
  print: () => undefined,
  warn: () => undefined,
  terminal: null,
});
const checksOf = async (fake: FakeVllm, fields: Record<string, unknown> = {}): Promise<Check[]> => {
  const { url } = await serve(fake);
  return checkExperiment(experimentOn({ type: 'vllm', baseUrl: url }, fields), context());
};
const stateOf = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ what, state }) => [what.replace(/http.*/, 'server'), state]));
const find = (checks: readonly Check[], what: string) => checks.find((check) => check.what.startsWith(what));

describe('a server elsewhere', () => {
  test('that has everything is ok in every line, and each policy’s rank is tried', async () => {
    const { url, ranks } = await serve();
    const checks = await checkExperiment(experimentOn({ type: 'vllm', baseUrl: [url] }), context());
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
      { adapter: failure(404, 'Loading lora genenv-doctor failed: No adapter found for /a') },
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
    const wrong = checks.filter(({ state, what: name }) => state === 'missing' && !name.startsWith('Model '));
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

  test('that is away, and a key that is not set', async () => {
    const away = await checkExperiment(
      experimentOn({ type: 'vllm', baseUrl: 'http://127.0.0.1:9/v1' }),
      context(),
    );
    expect(find(away, 'http')).toMatchObject({
      state: 'missing',
      finding: expect.stringContaining('does not answer') as string,
    });
    const keyless = await checkExperiment(
      experimentOn({ type: 'vllm', baseUrl: 'http://127.0.0.1:9/v1', apiKeyEnv: 'NO_SUCH_KEY' }),
      context(),
    );
    expect(find(keyless, 'Key')).toMatchObject({ state: 'missing', finding: 'NO_SUCH_KEY is not set' });
  });

  test('of the older kind is asked the same if adapters are published to it, else for its models', async () => {
    const { url } = await serve({ logprobs: 'raw' });
    const openai = { type: 'openai', baseUrl: url, returnsTokenIds: true };
    const published = await checkExperiment(experimentOn({ ...openai, publish: 'vllm-lora' }), context());
    expect(find(published, 'Log-probabilities')?.state).toBe('missing');
    const frozen = experimentOn(
      { ...openai, publish: 'none', models: { agent: 'base', environment: 'writer' } },
      { arm: { type: 'random' }, 'agent.training': null, 'environment.training': null },
    );
    expect(find(await checkExperiment(frozen, context()), 'Model server')).toMatchObject({
      state: 'missing',
      finding: `${url} does not serve writer`,
    });
  });
});

describe('an SGLang elsewhere', () => {
  const flags = { enable_lora: true, max_lora_rank: 8 };
  const sglangChecks = async (options: Partial<FakeSglangOptions> = {}, refusals: string[] = []) => {
    const server = await FakeSglang.start({ model: () => 'yes', serverArguments: flags, ...options });
    onTestFinished(() => server[Symbol.asyncDispose]());
    server.nextRefusals.push(...refusals);
    const file = experimentOn({ type: 'sglang', baseUrl: server.url }, { world: { type: 'programs' } });
    return checkExperiment(file, context());
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
    const wrong = checks.filter(({ state, what: name }) => state === 'missing' && !name.startsWith('Model '));
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
    const mistaken = await checkExperiment(experimentOn({ type: 'sglang', baseUrl: url }), context());
    expect(find(mistaken, 'http')).toMatchObject({
      state: 'missing',
      remedy: 'name the address of an SGLang',
    });
    const away = await checkExperiment(
      experimentOn({ type: 'sglang', baseUrl: 'http://127.0.0.1:9' }),
      context(),
    );
    expect(find(away, 'http')?.finding).toContain('does not answer');
  });
});

describe('this machine', () => {
  test('lacks a model and an engine that set-up installs, and has them then', async () => {
    const file = experimentOn(
      { type: 'vllm' },
      {
        'agent.model.path': 'engine:smollm2',
        'environment.model.path': 'engine:smollm2',
      },
    );
    const before = await checkExperiment(file, context());
    expect(find(before, 'Model engine:smollm2')).toMatchObject({
      state: 'missing',
      remedy: 'run `npm run engines -- smollm2`',
    });
    expect(find(before, 'Engine vLLM')).toMatchObject({
      state: 'missing',
      remedy: expect.stringContaining('npm run engines -- vllm') as string,
    });
    expect(find(before, 'vLLM')).toMatchObject({
      state: 'note',
      finding: expect.stringContaining(
        '`genenv run` starts it with engine:smollm2 in float32, LoRA rank 8',
      ) as string,
    });

    const folder = join(home, 'smollm2');
    mkdirSync(folder);
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ max_position_embeddings: 20 }));
    writeFileSync(
      join(folder, 'model.safetensors'),
      Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}')]),
    );
    vi.stubEnv('GENENV_ENGINE_SMOLLM2', folder);
    const after = await checkExperiment(file, context());
    expect(find(after, 'Model engine:smollm2')).toMatchObject({ state: 'ok', finding: folder });
    expect(find(after, 'Longest agent prompt')).toMatchObject({
      state: 'missing',
      finding: expect.stringMatching(/there is room for 20$/) as string,
    });
    expect(find(after, 'Disk for this run')?.state).toBe('ok');
  });
});
