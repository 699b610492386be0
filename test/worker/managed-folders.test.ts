/** What the worker reads before the vLLM of its stack is given an adapter, in folders that somebody else may write. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { createModelClients } from '../../src/worker/model-servers.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { resolveLoopback } from '../../test-support/permitted-servers.ts';

let folder: string;
const SECRET = 'SECRET of the machine';
const secret = () => join(folder, 'secret.txt');
const model = () => join(folder, 'model');
const settings = () => join(folder, 'adapter/adapter_config.json');
const positions = () => join(model(), 'config.json');
const replace = (path: string, put: (path: string) => void): void => {
  rmSync(path, { force: true });
  put(path);
};
const pipe = (path: string): void => void execFileSync('mkfifo', [path]);
const linkToSecret = (path: string): void => symlinkSync(secret(), path);
const noJson = (path: string): void => writeFileSync(path, SECRET);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-managed-'));
  for (const name of ['model', 'adapter']) mkdirSync(join(folder, name));
  writeFileSync(positions(), JSON.stringify({ max_position_embeddings: 8192 }));
  writeFileSync(settings(), JSON.stringify({ base_model_name_or_path: model() }));
  writeFileSync(secret(), SECRET);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What loading says: the server has less room than the model, so it is never done. */
async function load(): Promise<{ name: string; message: string; calls: number }> {
  const baseModel = { name: 'base', folder: model() };
  const server = await FakeModelServer.start({ model: () => '', baseModel, contextLength: 4096 });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [managed] = createModelClients(
    { policyServer: 'http://127.0.0.1:9/v1', vllmServer: server.url },
    resolveLoopback,
    (_, send) => send(),
  ).adapterServers({ type: 'vllm' });
  const error: unknown = await managed!
    .load('agent@0001', join(folder, 'adapter'))
    .catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(Error);
  const { name, message } = error as Error;
  return { name, message, calls: server.adapters.calls.length };
}

it.each<[string, () => string, (path: string) => void]>([
  ['the settings of an adapter that are a link', settings, linkToSecret],
  ['the settings of an adapter that are a pipe', settings, pipe],
  ['the settings of an adapter that are no JSON', settings, noJson],
  ['the settings of an adapter without a model', settings, (path) => writeFileSync(path, '{}')],
  ['weights that are a link', () => join(folder, 'adapter/weights'), linkToSecret],
  ['weights that are a pipe', () => join(folder, 'adapter/weights'), pipe],
  ['the settings of a model that are a pipe', positions, pipe],
  ['the settings of a model that are no JSON', positions, noJson],
  ['the settings of a model that are no object', positions, (path) => writeFileSync(path, 'null')],
  ['the settings of a model that are a device', positions, (path) => symlinkSync('/dev/zero', path)],
])('a server is given nothing, and nobody is held up or told, by %s', async (_, path, put) => {
  replace(path(), put);
  const { name, message, calls } = await load();
  expect([name, calls]).toEqual(['InvalidArtifact', 0]);
  expect(message).not.toContain('SECRET');
});

it('a server has the settings of no other model read than of its own', async () => {
  mkdirSync(join(folder, 'elsewhere'));
  pipe(join(folder, 'elsewhere/config.json'));
  writeFileSync(settings(), JSON.stringify({ base_model_name_or_path: join(folder, 'elsewhere') }));
  const { name, message } = await load();
  expect([name, message]).toEqual(['ModelUnavailable', expect.stringContaining('the adapter is over')]);
});

it('a server may have a model whose files are links, as those in the cache of Hugging Face are', async () => {
  renameSync(positions(), join(folder, 'blob'));
  symlinkSync('../blob', positions());
  expect((await load()).message).toContain("it takes 4096 tokens, and this run's file says 8192");
});
