import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCompletionsClient } from '../src/inference/completions-client.ts';
import type { Completion } from '../src/inference/policy-client.ts';
import { FakeTrainer } from '../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../test-support/plain-epochs.ts';

const tasks = 16;
const rolloutsPerTask = 8;
const rounds = 4;
const timeoutSeconds = 600;

interface SentRequest {
  url: string;
  body: string;
}

interface Measured {
  tokens: number;
  seconds: number;
}

/**
 * Sampled tokens a second of our rollouts (requests, journal, traces) through a real vLLM, beside a
 * loop that sends it the same requests and keeps nothing. They take turns, each first in every other round, after
 * one that fills the server's prefix cache for both.
 * @param baseUrl of a vLLM that serves the model of the folder as `base`
 */
export async function llmRollouts(baseUrl: string, model: string): Promise<Record<string, unknown>> {
  const { requests } = await ourRollouts(baseUrl, model);
  const ours: Measured[] = [];
  const barest: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const sides = [
      async () => barest.push(await barestRollouts(requests)),
      async () => ours.push(await ourRollouts(baseUrl, model)),
    ];
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
  }
  const [ourRate, barestRate] = [totalRate(ours), totalRate(barest)];
  return {
    requests: requests.length,
    tokens: ours[0]!.tokens,
    barest_tokens: barest[0]!.tokens,
    tokens_per_second: ourRate,
    barest_tokens_per_second: barestRate,
    ratio_to_barest: ourRate / barestRate,
    ratios_by_round: ours.map((measured, round) => totalRate([measured]) / totalRate([barest[round]!])),
    target_ratio: 0.97,
  };
}

/** Of all rounds together: the times of a server on a shared machine scatter by a tenth. */
const totalRate = (measured: readonly Measured[]): number =>
  measured.reduce((sum, { tokens }) => sum + tokens, 0) /
  measured.reduce((sum, { seconds }) => sum + seconds, 0);

/** The requests at the same time, their answers parsed and dropped. */
async function barestRollouts(requests: readonly SentRequest[]): Promise<Measured> {
  const begun = performance.now();
  const counts = await Promise.all(
    requests.map(async ({ url, body }) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
      const { choices } = (await response.json()) as { choices: { token_ids: number[] }[] };
      return choices.reduce((sum, { token_ids }) => sum + token_ids.length, 0);
    }),
  );
  return {
    tokens: counts.reduce((sum, count) => sum + count, 0),
    seconds: (performance.now() - begun) / 1000,
  };
}

/** One epoch of rollouts on random tasks of the world `programs`: what it sent, and how long it took. */
async function ourRollouts(
  baseUrl: string,
  model: string,
): Promise<Measured & { requests: readonly SentRequest[] }> {
  const home = mkdtempSync(join(tmpdir(), 'genenv-bench-'));
  const recorder = recordingFetch();
  try {
    const client = createCompletionsClient({ baseUrl, apiKey: undefined, timeoutMs: timeoutSeconds * 1000 });
    let tokens = 0;
    const activities = createActivities({
      ...plainDependencies(home, baseUrl, new FakeTrainer()),
      policyClient: () => ({
        ...client,
        complete: async (request, signal) => {
          if (request.prompts.every(asksForTask)) return request.prompts.map(writtenTask);
          const completions = await client.complete(request, signal);
          tokens += completions.reduce((sum, { token_ids }) => sum + token_ids.length, 0);
          return completions;
        },
      }),
    });
    const { plan, prepared } = await begin(activities, 'bench', experimentFile(baseUrl, model));
    let measured: (Measured & { requests: SentRequest[] }) | undefined;
    const rollOut: typeof activities.rollOut = async (input) => {
      recorder.requests.length = 0;
      tokens = 0;
      const begun = performance.now();
      const result = await activities.rollOut(input);
      const seconds = (performance.now() - begun) / 1000;
      measured = { tokens, seconds, requests: [...recorder.requests] };
      return result;
    };
    await plainEpoch({ ...activities, rollOut }, plan, prepared);
    if (measured === undefined) throw new Error('the epoch had no rollouts');
    return measured;
  } finally {
    recorder.restore();
    rmSync(home, { recursive: true, force: true });
  }
}

const asksForTask = (prompt: string | number[]): boolean =>
  typeof prompt === 'string' && prompt.includes('Write one program of tools.');

/** A simulator that writes tasks; the untrained model would write none. */
const writtenTask = (_: unknown, prompt: number): Completion => ({
  prompt,
  sample: 0,
  text: `subtract(add(${prompt + 2}, 31), 5); upper("rain")`,
  prompt_token_ids: [1],
  token_ids: [1],
  logprobs: [0],
  finish_reason: 'stop',
});

/** Replaces `fetch` of clients that are made from now on by one that keeps what is sent. */
function recordingFetch(): { requests: SentRequest[]; restore: () => void } {
  const requests: SentRequest[] = [];
  const send = globalThis.fetch;
  globalThis.fetch = (target, options) => {
    if (typeof target === 'string' && typeof options?.body === 'string')
      requests.push({ url: target, body: options.body });
    return send(target, options);
  };
  return { requests, restore: () => (globalThis.fetch = send) };
}

function experimentFile(baseUrl: string, path: string): Record<string, unknown> {
  const pretrained = { type: 'pretrained', path };
  return {
    name: 'bench',
    seed: 0,
    epochs: 1,
    arm: { type: 'random' },
    world: { type: 'programs', format: 'chatml' },
    environment: {
      model: pretrained,
      sampling: { maxTokens: 32 },
      promptsPerEpoch: tasks,
      variationsPerPrompt: 1,
    },
    agent: {
      model: pretrained,
      sampling: { temperature: 1, maxTokens: 32 },
      rolloutsPerTask,
      training: null,
    },
    guards: { gateAgent: null, frozenSamples: 0 },
    serving: {
      type: 'openai',
      baseUrl,
      publish: 'none',
      returnsTokenIds: true,
      models: { agent: 'base', environment: 'base' },
    },
    durability: {
      shards: 1,
      promptsPerRequest: tasks * rolloutsPerTask,
      requestTimeoutSeconds: timeoutSeconds,
      heartbeatSeconds: timeoutSeconds,
    },
  };
}
