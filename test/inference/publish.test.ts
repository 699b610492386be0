import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WrongWeights } from '../../src/inference/adapter-server.ts';
import { createAdapterServer } from '../../src/inference/create-adapter-server.ts';
import { DamagedModel, ModelUnavailable, RequestRefused } from '../../src/inference/policy-client.ts';
import { ensurePolicyServed, resendIfPolicyMissing, withdrawPolicies } from '../../src/inference/publish.ts';
import { writeCanary } from '../../src/store/canaries.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { shareFolder } from '../../src/store/shared-folders.ts';
import { canaryPath } from '../../src/store/object-paths.ts';
import { folderRef } from '../../src/store/references.ts';
import type { FolderRef } from '../../src/store/references.ts';
import type { PolicyVersion } from '../../src/types/run-state.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { FakeSglang } from '../../test-support/fake-sglang.ts';
import { FakeAdapters } from '../../test-support/fake-vllm.ts';
import { fakeCanary, weightsIn } from '../../test-support/fake-weights.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { resolveLoopback } from '../../test-support/permitted-servers.ts';

const frozen = {
  type: 'openai',
  baseUrl: 'http://127.0.0.1:1/v1',
  apiKeyEnv: null,
  publish: 'none',
  returnsTokenIds: true,
  models: null,
} as const;
const dialects = [
  { ...frozen, publish: 'vllm-lora' },
  { type: 'sglang', baseUrl: 'http://127.0.0.1:1' },
] as const;
type Dialect = (typeof dialects)[number];
const [vllm, sglang] = dialects;
const name = 'agent@0001-0123456789ab';

/** A store with two adapters and their canaries, and servers to publish them to. */
async function someStore(serving: Dialect, serverCount = 1) {
  const home = await memoryFolder();
  const store = new ObjectStore(join(home, 'store'));
  const put = async (weights: string): Promise<FolderRef> => {
    const folder = join(home, weights);
    await mkdir(folder);
    await writeFile(join(folder, 'weights.txt'), weights);
    const ref = await store.putFolder(folder);
    await writeCanary(store.root, ref, fakeCanary(weightsIn(store.path(ref))));
    return ref;
  };
  const servers = await Promise.all(
    Array.from({ length: serverCount }, () =>
      serving.type === 'sglang'
        ? FakeSglang.start({ model: () => '' })
        : FakeModelServer.start({ model: () => '', baseModel: { name: 'base' } }),
    ),
  );
  onTestFinished(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
  const clients = servers.map(({ url }) =>
    createAdapterServer(serving, { baseUrl: url, apiKey: undefined, timeoutMs: 5_000 }),
  );
  const dependencies = { store, adapterServers: () => clients };
  const [right, wrong] = [await put('right'), await put('wrong')];
  return {
    store,
    servers,
    adapters: servers[0]!.adapters,
    dependencies,
    right,
    folder: store.path(right),
    wrongFolder: store.path(wrong),
    publish: () =>
      ensurePolicyServed(dependencies, serving, { name, checkpoint: right, trainer_state: null }),
  };
}

describe.each(dialects)('publishing an adapter ($type)', (serving) => {
  it('loads it on every server and confirms the weights by their canary', async () => {
    const { servers, publish, folder } = await someStore(serving, 2);
    expect(await publish()).toBe(true);
    // Publishing again changes nothing.
    expect(await publish()).toBe(true);
    for (const { adapters } of servers) {
      expect(adapters.calls).toEqual(Array.from({ length: 2 }, () => ({ call: 'load', name, folder })));
      expect(adapters.loaded.get(name)!.weights).toBe(weightsIn(folder));
    }
  });

  it('loads other weights under the name once more, by a path that no cache knows', async () => {
    const { adapters, publish, folder, wrongFolder } = await someStore(serving);
    adapters.mistaken.set(folder, wrongFolder);
    expect(await publish()).toBe(true);
    expect(adapters.calls).toEqual([
      { call: 'load', name, folder },
      { call: 'unload', name },
      { call: 'load', name, folder: `${folder}/.` },
    ]);
    expect(adapters.loaded.get(name)!.weights).toBe(weightsIn(folder));
  });

  it('fails for good if they stay others, says what was compared, and leaves nothing under the name', async () => {
    const { adapters, publish, folder, wrongFolder, servers } = await someStore(serving);
    for (const path of [folder, `${folder}/.`]) adapters.mistaken.set(path, wrongFolder);
    const failure = publish();
    await expect(failure).rejects.toThrow(WrongWeights);
    await expect(failure).rejects.toThrow(
      new RegExp(
        `${servers[0]!.url} does not serve ${name} \\(${folder}\\): log-probabilities of the 3 likeliest next ` +
          "tokens at 3 places of a text, the server's beside the trainer's, differ by \\d.* in the mean, where " +
          "0.00010 is allowed \\(the base model's differ by 0.0\\)",
      ),
    );
    expect(adapters.loaded.has(name)).toBe(false);
  });

  it('tells another base model from another adapter', async () => {
    const { store, right, publish } = await someStore(serving);
    const canary = fakeCanary('any');
    for (const place of canary) place.base.logprobs = place.base.logprobs.map((value) => value - 1);
    await writeCanary(store.root, right, canary);
    await expect(publish()).rejects.toThrow('differ by 1.0 in the mean under the base model alone');
  });

  it('allows for the precision of the server, which its base model shows', async () => {
    const { store, right, publish, folder } = await someStore(serving);
    const rounded = (adapterError: number, baseError: number) => {
      const canary = fakeCanary(weightsIn(folder));
      for (const { adapter, base } of canary) {
        adapter.logprobs = adapter.logprobs.map((value) => value + adapterError);
        base.logprobs = base.logprobs.map((value) => value + baseError);
      }
      return writeCanary(store.root, right, canary);
    };
    await rounded(0.03, 0.01);
    expect(await publish()).toBe(true);
    await rounded(0.05, 0.01);
    await expect(publish()).rejects.toThrow(WrongWeights);
    await rounded(0.001, 0.00001);
    await expect(publish()).rejects.toThrow(WrongWeights);
  });

  it('trusts the server where there is no canary, or a torn one', async () => {
    const { store, adapters, right, publish, folder, wrongFolder } = await someStore(serving);
    adapters.mistaken.set(folder, wrongFolder);
    await writeFile(canaryPath(store.root, right), '{"canary":[{"prompt":[1],"ada');
    expect(await publish()).toBe(true);
    await rm(canaryPath(store.root, right));
    expect(await publish()).toBe(true);
    expect(adapters.calls.every(({ call }) => call === 'load')).toBe(true);
  });
});

describe.each(dialects)('a server that does not load an adapter ($type)', (serving) => {
  it('is away for now if the files are whole, else they are damaged', async () => {
    const { adapters, publish, folder } = await someStore(serving);
    const status = serving.type === 'sglang' ? 400 : 500;
    const torn = { status, body: 'Error while deserializing header: incomplete metadata' };
    adapters.nextReplies.push(torn);
    await expect(publish()).rejects.toThrow(ModelUnavailable);
    await writeFile(join(folder, 'weights.txt'), 'righ');
    adapters.nextReplies.push(torn);
    await expect(publish()).rejects.toThrow(InvalidArtifact);
  });

  it('is passed over if another one can; it gets the adapter when it is asked for it', async () => {
    const { servers, publish } = await someStore(serving, 2);
    const comeBack = await servers[0]!.goAway();
    expect(await publish()).toBe(true);
    expect(servers[1]!.adapters.loaded.has(name)).toBe(true);
    await comeBack();
    await servers[1]!.goAway();
    expect(await publish()).toBe(true);
    expect(servers[0]!.adapters.loaded.has(name)).toBe(true);
    await servers[0]!.goAway();
    await expect(publish()).rejects.toThrow(ModelUnavailable);
  });
});

it.each<[Dialect, number, string, string]>([
  [vllm, 500, 'LoRA rank 64 is greater than max_lora_rank 16.', 'max_lora_rank 16'],
  [vllm, 404, 'Loading lora x failed: No adapter found for /nowhere', 'No adapter found for /nowhere'],
  [vllm, 404, '{"detail":"Not Found"}', 'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True'],
  [sglang, 400, 'LoRA is not enabled. Please set `--enable-lora` to enable LoRA.', '--enable-lora'],
  [sglang, 400, "the adapter's rank is within the configured `--max-lora-rank`", '--max-lora-rank'],
  [sglang, 400, "Repo id must be in the form 'repo_name': '/nowhere'", '/nowhere'],
  [sglang, 404, '{"detail":"Not Found"}', 'answered 404'],
])('a server refuses for good what no other try changes: $0.type %i %s', async (serving, ...reply) => {
  const [status, body, message] = reply;
  const { adapters, publish } = await someStore(serving);
  adapters.nextReplies.push({ status, body });
  const failure = publish();
  await expect(failure).rejects.toThrow(RequestRefused);
  await expect(failure).rejects.toThrow(message);
});

it('an SGLang that was interrupted while it unloaded an adapter unloads it before it loads it again', async () => {
  const { adapters, publish, folder } = await someStore(sglang);
  const body = `LoRA adapter '${name}' has an incomplete unload. Retry the unload before loading it again.`;
  adapters.nextReplies.push({ status: 400, body });
  expect(await publish()).toBe(true);
  expect(adapters.calls).toEqual([
    { call: 'load', name, folder },
    { call: 'unload', name },
    { call: 'load', name, folder },
  ]);
});

it('an SGLang whose own error keeps it from unloading an adapter is away, and one that refuses is not', async () => {
  const { adapters, dependencies } = await someStore(sglang);
  const unload = () => dependencies.adapterServers()[0]!.unload(name);
  vi.spyOn(adapters, 'unload').mockReturnValueOnce({ status: 500, body: 'out of luck' });
  await expect(unload()).rejects.toMatchObject({ name: 'ModelUnavailable' });
  vi.spyOn(adapters, 'unload').mockReturnValueOnce({ status: 422, body: 'no' });
  await expect(unload()).rejects.toThrow(RequestRefused);
});

describe.each(dialects)('withdrawing policies ($type)', (serving) => {
  it('unloads them on every server that answers; those that are not there are no fault', async () => {
    const { servers, dependencies, publish } = await someStore(serving, 2);
    await publish();
    const comeBack = await servers[0]!.goAway();
    await withdrawPolicies(dependencies, serving, [name, 'agent@0000-none']);
    await comeBack();
    expect(servers.map(({ adapters }) => adapters.loaded.has(name))).toEqual([true, false]);
    await withdrawPolicies(dependencies, frozen, [name]);
    expect(servers[0]!.adapters.loaded.has(name)).toBe(true);
  });
});

/** As `someStore`, with the adapters of a vLLM. */
const someVllm = async () => {
  const { adapters, ...store } = await someStore(vllm);
  if (!(adapters instanceof FakeAdapters)) throw new Error('expected a fake vLLM');
  return { ...store, adapters };
};

describe('a vLLM', () => {
  it('tells an adapter from the base model, whatever the precision of the server', async () => {
    const { store, adapters, right, publish } = await someVllm();
    const canary = fakeCanary('any').map(({ prompt, base: { token_ids, logprobs } }) => ({
      prompt,
      base: { token_ids, logprobs: logprobs.map((value) => value + 0.01) },
      adapter: { token_ids, logprobs: logprobs.map((value) => value + 0.01 + 0.012) },
    }));
    await writeCanary(store.root, right, canary);
    const likeliest = adapters.likeliest.bind(adapters);
    const served = vi.spyOn(adapters, 'likeliest');
    served.mockImplementation((request) => likeliest({ ...request, model: 'base' }));
    await expect(publish()).rejects.toThrow(
      'changes log-probabilities by 0.012 in the mean, and on the server by 0.0,',
    );
    // A change that is smaller than the rounding says nothing.
    for (const { adapter, base } of canary) adapter.logprobs = base.logprobs.map((value) => value + 0.009);
    await writeCanary(store.root, right, canary);
    expect(await publish()).toBe(true);
  });

  it('names the damage if the server finds no adapter in the folder, or other weights', async () => {
    const missing = await someVllm();
    await rm(missing.folder, { recursive: true });
    await expect(missing.publish()).rejects.toThrow(InvalidArtifact);
    const altered = await someVllm();
    await writeFile(join(altered.folder, 'weights.txt'), 'wrong');
    await expect(altered.publish()).rejects.toThrow(InvalidArtifact);
  });

  it('cannot be checked if it answers fewer questions than it was asked, or none', async () => {
    const { adapters, publish } = await someVllm();
    const likeliest = vi.spyOn(adapters, 'likeliest');
    const answer = (choices: object[]) => likeliest.mockReturnValue({ status: 200, body: { choices } });
    const choice = { logprobs: { top_logprobs: [{ 'token_id:1': -1 }] } };
    answer([choice]);
    await expect(publish()).rejects.toMatchObject({ name: 'InvalidAnswer' });
    answer([choice, choice, { logprobs: { top_logprobs: [{}] } }]);
    await expect(publish()).rejects.toMatchObject({ name: 'InvalidAnswer' });
  });

  it('names the damage if the settings of the adapter cannot be read on this side', async () => {
    const { servers, store, right, folder } = await someVllm();
    const { adapterServers } = createModelClients(
      { policyServer: 'http://127.0.0.1:9/v1', vllmServer: servers[0]!.url },
      resolveLoopback,
      (_, send) => send(),
    );
    const managed = { type: 'vllm' } as const;
    const publish = () =>
      ensurePolicyServed({ store, adapterServers }, managed, {
        name,
        checkpoint: right,
        trainer_state: null,
      });
    await writeFile(join(folder, 'adapter_config.json'), '{"base_model_na');
    await expect(publish()).rejects.toThrow(InvalidArtifact);
    await rm(folder, { recursive: true });
    await expect(publish()).rejects.toThrow(InvalidArtifact);
  });

  it.each([408, 409, 425, 429, 502, 503, 504])(
    'is away for now whatever it answers %i to: loading, unloading, a question or its list of models',
    async (status) => {
      const { adapters, publish, dependencies, folder, wrongFolder } = await someVllm();
      const page = { status, body: '<html>gateway</html>' };
      const away = { name: 'ModelUnavailable', reason: `answered ${status}: <html>gateway</html>` };
      adapters.nextReplies.push(page);
      await expect(publish()).rejects.toMatchObject(away);
      vi.spyOn(adapters, 'models').mockReturnValueOnce(page);
      await expect(publish()).rejects.toMatchObject(away);
      const likeliest = vi.spyOn(adapters, 'likeliest').mockReturnValue(page);
      await expect(publish()).rejects.toMatchObject(away);
      likeliest.mockRestore();
      vi.spyOn(adapters, 'unload').mockReturnValueOnce(page);
      await expect(dependencies.adapterServers()[0]!.unload(name)).rejects.toMatchObject(away);
      // So is one that fails between the two loads of a repair.
      adapters.loaded.clear();
      adapters.mistaken.set(folder, wrongFolder);
      vi.spyOn(adapters, 'unload').mockReturnValueOnce({ status: 500, body: 'out of luck' });
      await expect(publish()).rejects.toMatchObject({ name: 'ModelUnavailable' });
    },
  );
});

it('writes no entry for a name or a reference that leads out of the store, wherever they come from', async () => {
  const { dependencies, right } = await someVllm();
  const publish = (policy: { name: string; checkpoint: unknown }) =>
    ensurePolicyServed(dependencies, { type: 'embedded' }, {
      ...policy,
      trainer_state: null,
    } as PolicyVersion);
  for (const bad of ['../../../PWNED/package', 'a/b', '', '.hidden', 'x'.repeat(200)])
    await expect(publish({ name: bad, checkpoint: right })).rejects.toThrow(/its name cannot be served/);
  const withoutCount = { uri: 'any text', sha256: right.sha256, bytes: 1 };
  await expect(publish({ name: 'agent@1', checkpoint: withoutCount })).rejects.toThrow(InvalidArtifact);
});

it('fetches what this disk has lost of weights that are served, and sends the request again', async () => {
  const { dependencies, store } = await someVllm();
  await using s3 = await FakeS3.start();
  shareFolder(store.root, s3.bucket('team', 2), 'store');
  const folder = join(store.root, 'more');
  await mkdir(folder);
  await writeFile(join(folder, 'weights.txt'), 'more');
  const checkpoint = await store.putFolder(folder);
  const publish = () =>
    ensurePolicyServed(dependencies, { type: 'embedded' }, { name, checkpoint, trainer_state: null });
  await publish();
  // As the policy server does: it reads this disk alone.
  const send = async (): Promise<string> => {
    try {
      return await readFile(join(store.path(checkpoint), 'weights.txt'), 'utf8');
    } catch {
      throw new DamagedModel(store.path(checkpoint), 'missing');
    }
  };
  await rm(store.path(checkpoint), { recursive: true });
  expect(await resendIfPolicyMissing(send, publish)).toBe('more');
  // What no bucket has is damaged, as before.
  await rm(store.path(checkpoint), { recursive: true });
  s3.objects.clear();
  await expect(resendIfPolicyMissing(send, publish)).rejects.toThrow(InvalidArtifact);
});

it('binds a name to its weights once: other weights, and weights that are not stored, get no entry', async () => {
  const { dependencies, store, right } = await someVllm();
  const publish = (checkpoint: FolderRef) =>
    ensurePolicyServed(dependencies, { type: 'embedded' }, { name, checkpoint, trainer_state: null });
  const entry = join(store.root, 'served', `${name}.json`);
  const served = async (): Promise<unknown> => JSON.parse(await readFile(entry, 'utf8'));
  await expect(publish(folderRef('e'.repeat(64), 1, 1))).rejects.toThrow(InvalidArtifact);
  await publish(right);
  await publish(right);
  const folder = join(store.root, 'another');
  await mkdir(folder);
  await writeFile(join(folder, 'weights.txt'), 'another');
  await expect(publish(await store.putFolder(folder))).rejects.toThrow('it names other weights');
  expect(await served()).toEqual({ path: right.uri });
  // What is no entry is written again, and a link in its place is not followed.
  await writeFile(entry, '{');
  await publish(right);
  await rename(entry, join(store.root, 'outside.json'));
  await writeFile(join(store.root, 'outside.json'), '{"path": "SECRET"}');
  await symlink(join(store.root, 'outside.json'), entry);
  await publish(right);
  expect(await served()).toEqual({ path: right.uri });
  expect(await readFile(join(store.root, 'outside.json'), 'utf8')).toContain('SECRET');
});
