import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { embeddedServices } from '../../src/dev-stack/dev-stack.ts';
import type { Launch } from '../../src/dev-stack/processes.ts';
import { emptyRecord, stackPaths, writeStackRecord } from '../../src/dev-stack/record.ts';
import type { ServiceName } from '../../src/dev-stack/record.ts';
import { removeSocketFolder, stackSecrets } from '../../src/dev-stack/stack-secrets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-secrets-'));
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', folder);
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ max_position_embeddings: 8192 }));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const record = emptyRecord();
const longPaths = () => stackPaths(join(folder, 'h'.repeat(100)));

test('tokens are random, and those of the record stay', () => {
  const paths = stackPaths(folder);
  const [first, second] = [stackSecrets(paths, record), stackSecrets(paths, record)];
  const tokens = [first, second].flatMap(({ tokens: { policyServer, vllm } }) => [policyServer, vllm]);
  expect(new Set(tokens).size).toBe(4);
  for (const token of tokens) expect(token).toMatch(/^[\w-]{43}$/);
  expect(stackSecrets(paths, first).tokens).toEqual(first.tokens);
});

test('the record can be read by its owner alone', () => {
  const paths = stackPaths(folder);
  writeStackRecord(paths.record, { ...record, ...stackSecrets(paths, record) });
  expect(statSync(paths.record).mode & 0o777).toBe(0o600);
  expect(statSync(paths.folder).mode & 0o777).toBe(0o700);
});

test('a socket whose path would be too long is in a folder of a random name that others cannot enter', () => {
  const [first, second] = [stackSecrets(longPaths(), record), stackSecrets(longPaths(), record)];
  const places = [first, second].map(({ trainerSocket }) => dirname(trainerSocket));
  try {
    expect(new Set(places).size).toBe(2);
    for (const place of places) expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(Buffer.byteLength(first.trainerSocket)).toBeLessThanOrEqual(100);
    expect(stackSecrets(longPaths(), first).trainerSocket).toBe(first.trainerSocket);
    removeSocketFolder(longPaths(), first);
    expect(() => statSync(places[0]!)).toThrow('ENOENT');
  } finally {
    for (const place of places) rmSync(place, { recursive: true, force: true });
  }
});

test('a socket whose path is short lies in the folder of the stack, which is not removed', () => {
  const paths = stackPaths(folder);
  const secrets = stackSecrets(paths, record);
  expect(secrets.trainerSocket).toBe(join(paths.folder, 'trainer.sock'));
  mkdirSync(paths.folder);
  removeSocketFolder(paths, secrets);
  expect(statSync(paths.folder).isDirectory()).toBe(true);
});

test.each(['that others may enter', 'that is a link', 'that is gone'])(
  'a recorded folder %s is not used again',
  (kind) => {
    const place = join(folder, 'taken');
    if (kind === 'that others may enter') {
      mkdirSync(place);
      chmodSync(place, 0o755);
    }
    if (kind === 'that is a link') symlinkSync(mkdtempSync(join(folder, 'target-')), place);
    const trainerSocket = join(place, 'trainer.sock');
    const secrets = stackSecrets(longPaths(), { tokens: null, trainerSocket });
    expect(secrets.trainerSocket).not.toBe(trainerSocket);
    removeSocketFolder(longPaths(), secrets);
  },
);

test('each process gets its own secrets by its environment, and no key of the user but the worker', async () => {
  const keys = {
    OPENAI_API_KEY: 'canary-openai',
    HF_TOKEN: 'canary-hf',
    AWS_SECRET_ACCESS_KEY: 'canary-aws',
  };
  const programs = {
    node: 'node',
    python: 'python',
    temporal: 'temporal',
    vllmPython: 'vllm',
    repository: folder,
    env: { PATH: '/bin', TEMPORAL_API_KEY: 'canary-temporal', ...keys },
  };
  const paths = stackPaths(folder);
  const secrets = stackSecrets(paths, record);
  const vllm = { model: 'engine:smollm2', precision: 'float32', maxLoraRank: 16, maxModelLen: null } as const;
  const { stages } = embeddedServices(
    programs,
    paths,
    { ports: {}, secrets },
    {
      needs: { policyServer: true, trainer: true, vllm },
      moreNeeds: () => Promise.resolve({ policyServer: true, trainer: true, vllm }),
      hasUi: false,
    },
  );
  const launches = new Map<ServiceName, Launch>();
  for (const stage of stages)
    for (const service of typeof stage === 'function' ? await stage() : stage)
      launches.set(service.name, await service.launch());
  const environmentOf = (name: ServiceName) => launches.get(name)?.env ?? {};
  const { policyServer, vllm: vllmToken } = secrets.tokens;
  expect(environmentOf('policy-server')).toMatchObject({ GENENV_POLICY_TOKEN: policyServer });
  expect(environmentOf('vllm')).toMatchObject({ VLLM_API_KEY: vllmToken });
  expect(environmentOf('worker')).toMatchObject({
    GENENV_POLICY_TOKEN: policyServer,
    GENENV_VLLM_TOKEN: vllmToken,
    ...keys,
  });
  const secretsOf = (name: ServiceName): string[] =>
    Object.values(environmentOf(name)).filter(
      (value): value is string =>
        value !== undefined && [...Object.values(keys), policyServer, vllmToken].includes(value),
    );
  expect(secretsOf('temporal')).toEqual([]);
  expect(secretsOf('trainer')).toEqual([]);
  expect(secretsOf('policy-server')).toEqual([policyServer]);
  expect(secretsOf('vllm')).toEqual([vllmToken]);
  for (const { args, env } of launches.values()) {
    expect(JSON.stringify(args)).not.toMatch(/canary/);
    for (const token of [policyServer, vllmToken]) expect(args.join(' ')).not.toContain(token);
    expect(Object.values(env)).not.toContain('canary-temporal');
    expect(env).toHaveProperty('PATH', '/bin');
  }
});
