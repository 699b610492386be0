/** Adapters on a real vLLM: what the clients of this project and the trainer take for granted of it. */
import { cpSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { BASE_MODEL } from '../../src/dev-stack/vllm-settings.ts';
import { WrongWeights } from '../../src/inference/adapter-server.ts';
import { ModelNotServed, ModelUnavailable } from '../../src/inference/policy-client.ts';
import type { Completion, CompletionRequest, PolicyClient } from '../../src/inference/policy-client.ts';
import { ensurePolicyServed, resendIfPolicyMissing } from '../../src/inference/publish.ts';
import { writeCanary } from '../../src/store/canaries.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { hasVllm } from '../../test-support/managed-vllm.ts';
import { meanDifference } from '../../test-support/real-adapters.ts';
import { RealVllm } from '../../test-support/real-vllm.ts';

const MINUTES = 60_000;
const MAX_LENGTH = 512;
const TEMPERATURE = 0.9;
/** More than the server keeps in memory (8), of which it computes with 4 at a time. */
const VERSIONS = 10;
/** Of the server's log-probabilities to the trainer's, in the mean; neighbouring versions differ by 0.002. */
const MAX_DIFFERENCE = 1e-4;

const never = new AbortController().signal;
const PROMPTS = [
  'The capital of France is',
  'Once upon a time there was a baker who',
  'add(2, multiply(3, 4)) =',
  '<|im_start|>user\nName three colours.<|im_end|>\n<|im_start|>assistant\n',
];

describe.skipIf(!hasVllm)('adapters on vLLM', { timeout: 15 * MINUTES }, () => {
  let vllm: RealVllm;
  let client: PolicyClient;

  beforeAll(async () => {
    vllm = await RealVllm.start({ maxModelLen: MAX_LENGTH, versions: VERSIONS });
    client = vllm.clients.policyClient(vllm.serving, 10 * MINUTES);
  }, 25 * MINUTES);
  afterEach(async () => vllm.unload(...(await vllm.names())), 5 * MINUTES);
  afterAll(() => vllm[Symbol.asyncDispose](), MINUTES);

  const nameOf = (version: number): string => vllm.policies[version]!.name;
  const request = (model: string, fields: Partial<CompletionRequest> = {}): CompletionRequest => ({
    ...{ model, prompts: PROMPTS, n: 2, seed: 5, temperature: TEMPERATURE, maxTokens: 12 },
    ...fields,
  });
  const ask = (model: string, fields: Partial<CompletionRequest> = {}): Promise<Completion[]> =>
    client.complete(request(model, fields), never);
  /** @param version null = the base model */
  const differenceFrom = async (
    version: number | null,
    completions: readonly Completion[],
  ): Promise<number> =>
    meanDifference(
      completions,
      await vllm.trainer.measure(version === null ? null : vllm.folder(version), completions, TEMPERATURE),
    );
  const report = (what: string, difference: number): number => {
    console.log(`${what}: ${difference.toExponential(2)}`);
    return difference;
  };

  test('a published one answers with the token ids and log-probabilities of the trainer', async () => {
    expect(await vllm.publish(0)).toBe(true);
    expect(await vllm.names()).toEqual([nameOf(0)]);
    const completions = await ask(nameOf(0), { n: 4 });
    expect(completions).toHaveLength(PROMPTS.length * 4);
    const right = await vllm.trainer.measure(vllm.folder(0), completions, TEMPERATURE, PROMPTS);
    for (const [index, { prompt, prompt_token_ids: ids, text, finish_reason }] of completions.entries()) {
      expect(ids).toEqual(right.prompts[prompt]);
      // The token that ended the answer is one of its ids, and not in its text.
      expect(text).toBe(right.texts[index]);
      expect(['stop', 'length']).toContain(finish_reason);
    }
    const tokens = completions.reduce((sum, { token_ids: ids }) => sum + ids.length, 0);
    const difference = meanDifference(completions, right);
    expect(report(`trainer and server, ${tokens} tokens, mean difference`, difference)).toBeLessThan(
      MAX_DIFFERENCE,
    );
    const after = report('to the version one step later', await differenceFrom(1, completions));
    const none = report('to the base model', await differenceFrom(null, completions));
    expect(Math.min(after, none)).toBeGreaterThan(5 * MAX_DIFFERENCE);
  });

  test('samples follow from the seed, and each can be drawn alone', async () => {
    const model = nameOf(0);
    await vllm.publish(0);
    const first = await ask(model, { n: 3 });
    expect(await ask(model, { n: 3 })).toEqual(
      first.map((sample) => ({
        ...sample,
        logprobs: sample.logprobs.map((value) => expect.closeTo(value, 3) as number),
      })),
    );
    const texts = (completions: readonly Completion[]): string[] => completions.map(({ text }) => text);
    expect(new Set(texts(first.filter(({ prompt }) => prompt === 1))).size).toBe(3);
    expect(texts(await ask(model, { n: 3, seed: 6 }))).not.toEqual(texts(first));
    const drawn = first.slice(0, 6);
    const alone = await Promise.all(
      drawn.map(({ prompt, sample, seed }) =>
        ask(model, { n: 1, prompts: [PROMPTS[prompt]!], promptSeeds: [seed! + sample] }),
      ),
    );
    expect(alone.map(([only]) => only!.token_ids)).toEqual(drawn.map(({ token_ids }) => token_ids));
  });

  test('stop strings end an answer before them', async () => {
    await vllm.publish(0);
    const [counted] = await ask(nameOf(0), {
      prompts: ['1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,'],
      ...{ n: 1, temperature: 0.01, maxTokens: 16, stop: [' 15,'] },
    });
    expect(counted).toMatchObject({ text: ' 12, 13, 14,', finish_reason: 'stop' });
    expect(counted!.logprobs).toHaveLength(counted!.token_ids.length);
  });

  test('a prompt that is too long is answered by saying so; one that just fits is completed', async () => {
    const model = nameOf(0);
    await vllm.publish(0);
    expect(await client.contextLength(model, never)).toBe(MAX_LENGTH);
    const words = (count: number): string => 'word '.repeat(count).trim();
    const tokens = await client.promptLength(model, words(300), never);
    expect(tokens).toBe((await client.tokenize(model, words(300), never)).length);
    expect(tokens).toBe(300);
    const prompts = [words(MAX_LENGTH + 100), words(MAX_LENGTH), words(MAX_LENGTH - 1), PROMPTS[0]!];
    const answers = await ask(model, { prompts, n: 1, maxTokens: 8 });
    expect(answers.map(({ finish_reason, token_ids }) => [finish_reason, token_ids.length])).toEqual([
      ['prompt_too_long', 0],
      ['prompt_too_long', 0],
      ['length', 1],
      ['length', 8],
    ]);
  });

  test('an unloaded one is not served, and is published again when it is asked for', async () => {
    const name = nameOf(1);
    await vllm.publish(1);
    const before = await ask(name);
    await vllm.unload(name, 'agent@0009-unknown');
    expect(await vllm.names()).toEqual([]);
    await expect(ask(name)).rejects.toThrow(ModelNotServed);
    const again = await resendIfPolicyMissing(
      () => ask(name),
      () => vllm.publish(1),
    );
    expect(again.map(({ token_ids }) => token_ids)).toEqual(before.map(({ token_ids }) => token_ids));
  });

  test('more of them than it has room for answer with their own weights, side by side', async () => {
    for (const version of vllm.policies.keys()) await vllm.publish(version);
    expect(await vllm.names()).toHaveLength(VERSIONS);
    const answers = await Promise.all(
      vllm.policies.map(({ name }) => ask(name, { n: 1, prompts: PROMPTS.slice(0, 1) })),
    );
    for (const version of [0, VERSIONS - 1])
      expect(await differenceFrom(version, answers[version]!)).toBeLessThan(MAX_DIFFERENCE);
    // Publishing again loads nothing, and its canary asks those that had to be read from the store once more.
    for (const version of vllm.policies.keys()) expect(await vllm.publish(version)).toBe(true);
  });

  test('the base model is not disturbed by four adapters in the same batch', async () => {
    const versions = [0, 3, 6, 9];
    for (const version of versions) await vllm.publish(version);
    const models = [BASE_MODEL, ...versions.map((version) => nameOf(version))];
    const answers = await Promise.all(models.map((model) => ask(model)));
    const own = [null, ...versions];
    for (const [index, completions] of answers.entries()) {
      const difference = await differenceFrom(own[index]!, completions);
      expect(report(`${models[index]!} beside the others`, difference)).toBeLessThan(MAX_DIFFERENCE);
    }
  });

  test('a truncated file is not served, the store says that it is damaged, and the server lives on', async () => {
    const copy = join(vllm.home, 'damaged');
    cpSync(vllm.folder(2), copy, { recursive: true });
    const elsewhere = new ObjectStore(join(vllm.home, 'other-store'));
    const checkpoint = await elsewhere.putFolder(copy);
    const weights = join(elsewhere.path(checkpoint), 'adapter_model.safetensors');
    truncateSync(weights, statSync(weights).size / 2);
    const damaged = { name: 'agent@0002-damaged', checkpoint, trainer_state: null };
    const publishing = ensurePolicyServed(
      { store: elsewhere, adapterServers: vllm.clients.adapterServers },
      vllm.serving,
      damaged,
    );
    await expect(publishing).rejects.toThrow(InvalidArtifact);
    expect(await vllm.names()).toEqual([]);
    expect(await vllm.publish(2)).toBe(true);
  });

  test('the wrong one under the right name is told by the canary, and replaced', async () => {
    const name = nameOf(5);
    await vllm.load(name, vllm.folder(4));
    expect(await vllm.publish(5)).toBe(true);
    expect(await differenceFrom(5, await ask(name))).toBeLessThan(MAX_DIFFERENCE);

    // One that stays wrong is refused for good: this server would train the policy on another's answers.
    const checkpoint = vllm.policies[5]!.checkpoint!;
    await writeCanary(vllm.store.root, checkpoint, vllm.canaries[4]!);
    const failure = await vllm.publish(5).catch((error: unknown) => error);
    await writeCanary(vllm.store.root, checkpoint, vllm.canaries[5]!);
    expect(failure).toBeInstanceOf(WrongWeights);
    console.log((failure as WrongWeights).message);
    expect(await vllm.names()).toEqual([]);
  });

  test('what was computed under an old adapter is not mixed with a new one', async () => {
    // Long enough for the server to keep it: blocks of 128 tokens on processors.
    const prompts = [`${'The old clock in the market square struck nine. '.repeat(30)}Then`];
    const long = { prompts, n: 2 };
    const path = join(vllm.home, 'one-path');
    cpSync(vllm.folder(0), path, { recursive: true });
    await vllm.load('agent@one-name', path);
    const old = await ask('agent@one-name', long);
    expect(await differenceFrom(0, old)).toBeLessThan(MAX_DIFFERENCE);
    // Another name, and another path, have caches of their own.
    await vllm.publish(8);
    expect(await differenceFrom(8, await ask(nameOf(8), long))).toBeLessThan(MAX_DIFFERENCE);
    await vllm.unload('agent@one-name');
    await vllm.load('agent@one-name', vllm.folder(8));
    expect(await differenceFrom(8, await ask('agent@one-name', long))).toBeLessThan(MAX_DIFFERENCE);
    // So has another spelling of the path, by which a wrong adapter is replaced; the same one has not.
    await vllm.unload('agent@one-name');
    cpSync(join(vllm.folder(8), 'adapter_model.safetensors'), join(path, 'adapter_model.safetensors'));
    await vllm.load('agent@one-name', path);
    const stale = await differenceFrom(8, await ask('agent@one-name', long));
    expect(report('the same name and path with other weights', stale)).toBeGreaterThan(5 * MAX_DIFFERENCE);
    await vllm.unload('agent@one-name');
    await vllm.load('agent@one-name', `${path}/.`);
    expect(await differenceFrom(8, await ask('agent@one-name', long))).toBeLessThan(MAX_DIFFERENCE);
  });

  test(
    'a server killed amid answers and a load fails both, comes back without adapters, and gives the same answers',
    async () => {
      const name = nameOf(7);
      await vllm.publish(7);
      const many = { n: 4, maxTokens: 32 };
      const undisturbed = await ask(name, many);
      const { pid } = vllm;
      const answering = ask(name, many).catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      process.kill(pid, 'SIGSTOP');
      const loading = vllm.publish(6).catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, 500));
      process.kill(pid, 'SIGKILL');
      expect(await answering).toBeInstanceOf(ModelUnavailable);
      expect(await loading).toBeInstanceOf(ModelUnavailable);
      await vi.waitFor(() => expect(vllm.said.at(-1)).toMatch(/^vLLM: ready again after/), {
        timeout: 14 * MINUTES,
        interval: 500,
      });
      expect(await vllm.names()).toEqual([]);
      const again = await resendIfPolicyMissing(
        () => ask(name, many),
        () => vllm.publish(7),
      );
      expect(again.map(({ token_ids }) => token_ids)).toEqual(undisturbed.map(({ token_ids }) => token_ids));
      expect(await vllm.publish(6)).toBe(true);
    },
    20 * MINUTES,
  );
});
