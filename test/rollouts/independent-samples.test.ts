/**
 * Answers of vLLM and of SGLang to different prompts are independent draws. vLLM gives all prompts of a request
 * one seed, and sample j of each the seed + j, so a client that sent them together would get equal noise in
 * sample j of every task, and in every later turn of a group. SGLang gives all samples of a prompt one seed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { createPolicyClient } from '../../src/inference/create-policy-client.ts';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';
import { streamRollouts } from '../../src/rollouts/rollout-loop.ts';
import type { Rollout } from '../../src/rollouts/rollout-loop.ts';
import type { Phase } from '../../src/runtime/run-once.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeSglang } from '../../test-support/fake-sglang.ts';

const TASKS = 40;
const SAMPLES = 8;
const TURNS = 4;
const PREFIX = 2;
const LETTERS = 'abcd';
/** Chance that two independent answers begin alike. */
const expected = (1 / LETTERS.length) ** PREFIX;

/** Rollouts of several turns in a world that says "go on" between them. */
async function rollouts(type: 'vllm' | 'sglang'): Promise<Rollout<string>[]> {
  const model: FakeModel = (_, random) => Array.from({ length: 3 }, () => random.pick([...LETTERS])).join('');
  const server = await (type === 'sglang' ? startSglang(model) : FakeModelServer.start({ model }));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const serving = { type, baseUrl: server.url };
  const client = createPolicyClient(serving, { baseUrl: server.url, apiKey: undefined, timeoutMs: 60_000 });
  const never = new AbortController().signal;
  const items = Array.from({ length: TASKS }, (_, task) => `task ${task}: `);
  const request: CompletionRequest = {
    model: 'agent',
    prompts: items,
    n: SAMPLES,
    seed: 11,
    temperature: 1,
    maxTokens: 8,
  };
  const turns = {
    limit: TURNS,
    wordingPrompt: (_: string, actions: readonly string[]) => (actions.length < TURNS ? 'go on' : undefined),
    observe: () => ({ text: 'go on', consistent: true }),
  };
  const phase = { experiment: exampleExperiment(), world: { turns } } as unknown as Phase;
  const completionClient = {
    complete: (turn: CompletionRequest) => client.complete(turn, never),
    tokenize: (model: string, text: string) => client.tokenize(model, text, never),
    completionLogprobs: () => Promise.resolve([]),
    compare: () => Promise.resolve([]),
    hasRoomFor: () => Promise.resolve(true),
    usage: { tokens: 0, promptTokens: 0, retried: 0 },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return collect(
    streamRollouts(completionClient, phase, [{ request, items }], {
      specOf: (item) => item,
      simulator: null,
    }),
  );
}

async function startSglang(model: FakeModel): Promise<FakeSglang> {
  const server = await FakeSglang.start({ model });
  const adapter = mkdtempSync(join(tmpdir(), 'genenv-adapter-'));
  onTestFinished(() => rmSync(adapter, { recursive: true }));
  server.adapters.load('agent', adapter);
  return server;
}

type Drawn = { item: string; sample: number; prefix: string };

const inTurn = (all: readonly Rollout<string>[], turn: number): Drawn[] =>
  all.map(({ item, sample, turns }) => ({ item, sample, prefix: turns![turn]!.action.slice(0, PREFIX) }));

/** Share of the pairs that begin alike, and its standard deviation if the draws are independent. */
function shareOfEqualPrefixes(
  draws: readonly Drawn[],
  isCompared: (a: Drawn, b: Drawn) => boolean,
): { share: number; deviation: number } {
  let [pairs, equal] = [0, 0];
  for (const [index, a] of draws.entries()) {
    for (const b of draws.slice(index + 1)) {
      if (!isCompared(a, b)) continue;
      pairs += 1;
      if (a.prefix === b.prefix) equal += 1;
    }
  }
  return { share: equal / pairs, deviation: Math.sqrt((expected * (1 - expected)) / pairs) };
}

describe.each(['vllm', 'sglang'] as const)('answers of a server with the seeds of %s', (type) => {
  const comparisons: [string, (a: Drawn, b: Drawn) => boolean][] = [
    ['different tasks, same sample index', (a, b) => a.item !== b.item && a.sample === b.sample],
    ['different tasks, different sample indices', (a, b) => a.item !== b.item && a.sample !== b.sample],
    ['one group', (a, b) => a.item === b.item],
  ];

  it('begin alike as often as independent ones do, in every turn', async () => {
    const all = await rollouts(type);
    expect(all).toHaveLength(TASKS * SAMPLES);
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [what, isCompared] of comparisons) {
        const { share, deviation } = shareOfEqualPrefixes(inTurn(all, turn), isCompared);
        expect(Math.abs(share - expected), `${what}, turn ${turn}: ${share}`).toBeLessThan(5 * deviation);
      }
    }
  });

  it('are recorded with the seed of their own turn', async () => {
    const all = await rollouts(type);
    const seedsOf = (turn: number): number[] => all.map(({ turns }) => turns![turn]!.seed);
    // In the first turn a group is one request; later turns are one of each rollout.
    expect(new Set(seedsOf(0)).size).toBe(TASKS);
    for (let turn = 1; turn < TURNS; turn++) expect(new Set(seedsOf(turn)).size).toBe(TASKS * SAMPLES);
    for (const { sampled, turns } of all) expect(sampled.seed).toBe(turns![0]!.seed);
  });
});
