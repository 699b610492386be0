import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { Python } from '../../src/processes/python.ts';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { deriveSeed, randomStream } from '../../src/numerics/random.ts';
import { residentLauncher } from '../../src/training/launchers.ts';
import type { EnvironmentPoolRecord } from '../../src/types/records.ts';
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

async function drift(name: string, maxKl: number): Promise<number[]> {
  const base = tinyExperiment();
  const file = {
    ...base,
    name,
    environment: {
      ...(base.environment as object),
      training: { learningRate: 0.003, stepsPerEpoch: 6, recordsPerStep: 16, klCoefficient: 0, maxKl },
    },
    guards: { flatRewards: null },
  };
  const { world: settings } = parseExperiment(file);
  const world = createWorld(settings);
  const ports = {
    ...plainDependencies(stack.home, stack.policyUrl, residentLauncher(stack.trainerSocket)),
    python: new Python(pythonPath(), process.env),
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
  const kls: number[] = [];
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
    kls.push(metrics['env/kl']!);
  }
  return kls;
}

test('a simulator that runs away from its start is pulled back, and is not where the cap is out of reach', async () => {
  // A cap that is out of reach: the distance is measured, and nothing acts on it.
  const free = await drift('free', 1000);
  const cap = free.at(-1)! / 8;
  expect(cap).toBeGreaterThan(0.01);
  const held = await drift('held', cap);
  for (const kl of held) expect(kl).toBeLessThanOrEqual(2 * cap);
  expect(held.at(-1)).toBeGreaterThan(0);
}, 240_000);
