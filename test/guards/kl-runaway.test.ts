import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { Python } from '../../src/processes/python.ts';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { deriveSeed, randomStream } from '../../src/numerics/random.ts';
import { residentLauncher } from '../../src/training/resident-launcher.ts';
import type { EnvironmentPoolRecord } from '../../src/types/records.ts';
import type { Metrics } from '../../src/types/run-state.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { begin, createActivities, plainDependencies } from '../../test-support/plain-epochs.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * A real simulator whose every update imitates one and the same task: without a cap it forgets all others.
 */

let stack: LiveStack;
beforeAll(async () => {
  stack = await LiveStack.shared();
  await stack.policyReady();
}, 180_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

async function drift(name: string, caps: { maxKl: number; maxStepKl?: number }): Promise<Metrics[]> {
  const base = tinyExperiment();
  const file = {
    ...base,
    name,
    environment: {
      ...(base.environment as object),
      training: { learningRate: 0.003, stepsPerEpoch: 6, recordsPerStep: 16, klCoefficient: 0, ...caps },
    },
    guards: { flatRewards: null },
  };
  const { world: settings } = parseExperiment(file);
  const world = createWorld(settings);
  const python = new Python(pythonPath(), process.env);
  const ports = {
    ...plainDependencies(stack.home, stack.policyUrl, residentLauncher(python, stack.trainerSocket)),
    python,
  };
  const activities = createActivities(ports);
  const { plan, prepared } = await begin(activities, name, file);
  const server = createCompletionsClient({ baseUrl: stack.policyUrl, apiKey: undefined, timeoutMs: 60_000 });
  const [seedTask = ''] = world.baseTasks(randomStream(deriveSeed(7, 'base-tasks')));
  const written = await server.complete(
    {
      model: prepared.state.environment.name,
      prompts: [world.environmentPrompt(emptyHistory(), seedTask)],
      n: 16,
      seed: 1,
      temperature: 1,
      maxTokens: 10,
    },
    new AbortController().signal,
  );
  const { prompt_token_ids, token_ids, logprobs, text, finish_reason } = written[0]!;
  const sampled = {
    policy_version: 'any',
    seed: 1,
    temperature: 1,
    prompt_token_ids,
    token_ids,
    logprobs,
    text,
    finish_reason,
  };
  let { state } = prepared;
  const epochs: Metrics[] = [];
  for (let epoch = 1; epoch <= 4; epoch++) {
    const pool = Array.from({ length: 16 }, (_, index): EnvironmentPoolRecord => ({
      id: `epoch-${epoch}/task-${index}`,
      epoch,
      signature: `${index}`,
      kind: 'T',
      history_success: null,
      env_reward: 1,
      guard: 1,
      sampled,
    }));
    const environmentPool = await ports.store.putRecords(pool);
    const { policy, metrics } = await activities.trainEnvironment({
      run: plan.run,
      epoch,
      state,
      environmentPool,
      decisions: environmentPool,
    });
    state = { ...state, environment: policy };
    epochs.push(metrics);
  }
  return epochs;
}

const distances = (epochs: readonly Metrics[]): number[] => epochs.map((metrics) => metrics['env/kl']!);
/** A cap on the distance that is out of reach: it is measured, and nothing acts on it. */
const measured = { maxKl: 1000 };

test('a simulator that runs away from its start is pulled back, and is not where the cap is out of reach', async () => {
  const unbound = await drift('free', measured);
  const free = distances(unbound);
  const cap = free.at(-1)! / 8;
  expect(cap).toBeGreaterThan(0.01);
  const bound = await drift('held', { maxKl: cap });
  const held = distances(bound);
  const actedOn = (epochs: readonly Metrics[]) => epochs.map((metrics) => metrics['env/kl_capped']);
  expect(actedOn(unbound)).toEqual([0, 0, 0, 0]);
  expect(actedOn(bound)).toContain(1);
  for (const kl of held) expect(kl).toBeLessThanOrEqual(2 * cap);
  expect(held.at(-1)).toBeGreaterThan(0);
}, 240_000);

test('steps that are capped are short ones, and lead less far', async () => {
  const free = await drift('long-steps', measured);
  const cap = free[0]!['env/kl']! / 200;
  const capped = await drift('short-steps', { ...measured, maxStepKl: cap });
  for (const metrics of capped) {
    expect(metrics['env/step_kl']).toBeGreaterThan(0);
    expect(metrics['env/step_kl']).toBeLessThanOrEqual(cap);
    expect(metrics['env/steps']).toBe(6);
  }
  expect(capped[0]!['env/step_share']).toBeLessThan(1);
  expect(free[0]).not.toHaveProperty('env/step_kl');
  expect(distances(capped).at(-1)).toBeLessThan(distances(free).at(-1)! / 2);
}, 240_000);
