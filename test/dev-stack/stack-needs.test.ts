import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { embeddedServices } from '../../src/dev-stack/dev-stack.ts';
import { emptyRecord, stackPaths } from '../../src/dev-stack/record.ts';
import { stackSecrets } from '../../src/dev-stack/stack-secrets.ts';
import { combineNeeds, experimentNeeds, noNeeds, standardNeeds } from '../../src/dev-stack/stack-needs.ts';
import type { StackNeeds } from '../../src/dev-stack/stack-needs.ts';
import {
  combineVllm,
  vllmEnvironment,
  vllmFlags,
  vllmSettings,
  withBenchmarkLength,
} from '../../src/dev-stack/vllm-settings.ts';
import type { VllmSettings } from '../../src/dev-stack/vllm-settings.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-needs-'));
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', folder);
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ max_position_embeddings: 8192 }));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const model = (r: number) => ({ type: 'pretrained', path: 'engine:smollm2', adapter: { r } });
const onVllm = (serving: object = {}, fields: Record<string, unknown> = {}) =>
  parseExperiment(
    withFields(exampleFile, {
      'agent.model': model(8),
      'environment.model': model(12),
      serving: { type: 'vllm', ...serving },
      ...fields,
    }),
  );
const settings: VllmSettings = {
  model: 'engine:smollm2',
  precision: 'float32',
  maxLoraRank: 16,
  maxModelLen: null,
};

test('what else a stack needs is asked of its own Temporal server', async () => {
  const paths = stackPaths(folder);
  const received: object[] = [];
  const { stages } = embeddedServices(
    { node: '', python: '', temporal: '', vllmPython: '', repository: '', env: {} },
    paths,
    { ports: { temporal: 4711 }, secrets: stackSecrets(paths, emptyRecord()) },
    {
      needs: noNeeds,
      hasUi: false,
      moreNeeds: (server) => {
        // Callers add to what they get.
        received.push({ ...server });
        return Promise.resolve(noNeeds);
      },
    },
  );
  await (stages[1] as () => Promise<unknown>)();
  expect(received).toEqual([{ address: '127.0.0.1:4711', namespace: 'default' }]);
});

describe('what vLLM is started for', () => {
  test('follows from the file: the larger rank as vLLM has it, and the precision of the trainer', () => {
    expect(vllmSettings(onVllm())).toEqual(settings);
    expect(vllmSettings(onVllm({ maxModelLen: 512 }, { 'trainer.precision': 'bfloat16' }))).toEqual({
      ...settings,
      maxModelLen: 512,
      precision: 'bfloat16',
    });
    expect(vllmSettings(onVllm({ precision: 'float32' }, { 'trainer.precision': 'bfloat16' }))).toEqual(
      settings,
    );
    expect(vllmSettings(parseExperiment(exampleFile))).toBeNull();
  });

  test('gives flags: the length of the model, and no prompt is read in parts', () => {
    const flags = vllmFlags(settings);
    const value = (flag: string) => flags[flags.indexOf(flag) + 1];
    expect(value('--model')).toBe(folder);
    expect([value('--max-lora-rank'), value('--dtype'), value('--max-model-len')]).toEqual([
      '16',
      'float32',
      '8192',
    ]);
    expect(value('--logprobs-mode')).toBe('processed_logprobs');
    for (const flag of ['--enable-lora', '--no-enable-chunked-prefill', '--enforce-eager'])
      expect(flags).toContain(flag);
    const long = vllmFlags({ ...settings, maxModelLen: 20_000 });
    expect(long[long.indexOf('--max-num-batched-tokens') + 1]).toBe('20000');
    expect(JSON.parse(value('--structured-outputs-config') ?? '')).toMatchObject({
      disable_any_whitespace: true,
    });
  });

  test('has room for questions of benchmarks in an evaluation, as far as the model has positions', () => {
    expect(withBenchmarkLength({ ...settings, maxModelLen: 512 })).toEqual({
      ...settings,
      maxModelLen: 4096,
    });
    for (const maxModelLen of [4096, 6000, null])
      expect(withBenchmarkLength({ ...settings, maxModelLen }).maxModelLen).toBe(maxModelLen);
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ max_position_embeddings: 2048 }));
    expect(withBenchmarkLength({ ...settings, maxModelLen: 512 }).maxModelLen).toBe(2048);
    writeFileSync(join(folder, 'config.json'), '{}');
    expect(withBenchmarkLength({ ...settings, maxModelLen: 512 }).maxModelLen).toBe(512);
  });

  test('what the user has set in the environment stays', () => {
    expect(vllmEnvironment(2)).toMatchObject({
      OMP_NUM_THREADS: '2',
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
      HF_HUB_OFFLINE: '1',
    });
    expect(vllmEnvironment(2)).toHaveProperty('VLLM_CPU_OMP_THREADS_BIND', 'nobind');
    expect(vllmEnvironment(16)).not.toHaveProperty('VLLM_CPU_OMP_THREADS_BIND');
    expect(Number(vllmEnvironment(2).VLLM_CPU_KVCACHE_SPACE)).toBeGreaterThanOrEqual(1);
  });

  test('one server for two files has the larger limits; none serves two models or two precisions', () => {
    const first = { ...settings, maxModelLen: 512 };
    expect(combineVllm(first, { ...first, maxLoraRank: 32, maxModelLen: 256 })).toEqual({
      ...first,
      maxLoraRank: 32,
    });
    expect(combineVllm(first, settings)).toEqual(settings);
    expect(combineVllm(null, first)).toEqual(first);
    expect(combineVllm(first, { ...first, model: '/models/small' })).toBeNull();
    expect(combineVllm(first, { ...first, precision: 'bfloat16' })).toBeNull();
  });
});

describe('a run needs', () => {
  const resident = { policyServer: true, trainer: true, vllm: null };
  const outside = { type: 'openai', baseUrl: 'http://a/v1', publish: 'vllm-lora', returnsTokenIds: true };

  test.each<[string, () => StackNeeds, StackNeeds]>([
    ['embedded serving: all but vLLM', () => experimentNeeds(parseExperiment(exampleFile)), resident],
    [
      'embedded serving with cold jobs: no resident trainer',
      () =>
        experimentNeeds(
          parseExperiment(withFields(exampleFile, { 'trainer.launcher': { type: 'process' } })),
        ),
      { ...resident, trainer: false },
    ],
    [
      'a managed vLLM',
      () => experimentNeeds(onVllm()),
      { policyServer: false, trainer: true, vllm: settings },
    ],
    [
      'a managed vLLM and cold jobs: vLLM alone',
      () => experimentNeeds(onVllm({}, { 'trainer.launcher': { type: 'process' } })),
      { ...noNeeds, vllm: settings },
    ],
    [
      'an outside vLLM and cold jobs: nothing',
      () =>
        experimentNeeds(
          onVllm({ baseUrl: ['http://a/v1', 'http://b/v1'] }, { 'trainer.launcher': { type: 'process' } }),
        ),
      noNeeds,
    ],
    [
      'an outside server of the older kind and cold jobs: nothing',
      () => experimentNeeds(onVllm({}, { serving: outside, 'trainer.launcher': { type: 'process' } })),
      noNeeds,
    ],
    [
      'frozen models of a server: no trainer',
      () =>
        experimentNeeds(
          onVllm(
            {},
            {
              arm: { type: 'random' },
              'agent.training': null,
              'environment.training': null,
              serving: { ...outside, publish: 'none', models: { agent: 'a', environment: 'e' } },
            },
          ),
        ),
      noNeeds,
    ],
  ])('%s', (_, needs, expected) => expect(needs()).toEqual(expected));

  test('with another run what both need, and its own vLLM if one cannot serve both', () => {
    const vllm = { ...noNeeds, vllm: settings };
    expect(combineNeeds(vllm, standardNeeds)).toEqual({
      needs: { ...resident, vllm: settings },
      isServed: true,
    });
    const bfloat = { ...noNeeds, vllm: { ...settings, precision: 'bfloat16' as const } };
    expect(combineNeeds(vllm, bfloat)).toEqual({ needs: vllm, isServed: false });
  });
});

test('a stack has only the services that are needed, and those of interrupted runs when they are known', async () => {
  mkdirSync(join(folder, 'home'));
  const paths = stackPaths(join(folder, 'home'));
  const programs = {
    node: 'node',
    python: 'python',
    temporal: 'temporal',
    vllmPython: 'vllm',
    repository: folder,
    env: {},
  };
  const stages = async (needs: StackNeeds, more: StackNeeds) => {
    const services = embeddedServices(
      programs,
      paths,
      { ports: {}, secrets: stackSecrets(paths, emptyRecord()) },
      {
        needs,
        moreNeeds: () => Promise.resolve(more),
        hasUi: false,
      },
    );
    const names: string[][] = [];
    for (const stage of services.stages)
      names.push((typeof stage === 'function' ? await stage() : stage).map(({ name }) => name));
    return { names, addresses: services.addresses() };
  };
  const own = { ...noNeeds, vllm: settings };
  expect(await stages(own, own)).toMatchObject({
    names: [['temporal', 'vllm'], [], ['worker']],
    addresses: { policyServer: null, vllm: { settings } },
  });
  expect((await stages(own, { ...own, policyServer: true, trainer: true })).names).toEqual([
    ['temporal', 'vllm'],
    ['policy-server', 'trainer'],
    ['worker'],
  ]);
  expect(await stages(noNeeds, noNeeds)).toMatchObject({
    names: [['temporal'], [], ['worker']],
    addresses: { vllm: null },
  });
});
