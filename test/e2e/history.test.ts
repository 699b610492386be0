import { afterAll, beforeAll, expect, test } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { Python } from '../../src/processes/python.ts';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import type { AgentHistory } from '../../src/coevolution/agent-history.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import { residentLauncher } from '../../src/training/resident-launcher.ts';
import type { PolicyVersion } from '../../src/types/run-state.ts';
import type { EnvironmentPoolRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { begin, createActivities, plainDependencies } from '../../test-support/plain-epochs.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * The agent's history in the simulator's prompt must matter: where low success was answered well by short
 * tasks and high success by long ones, regression on those records makes the same seeds give short tasks
 * under a history of 0.1 and long ones under 0.9.
 */

let stack: LiveStack;
beforeAll(async () => {
  stack = await LiveStack.shared();
  await stack.policyReady();
}, 120_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

const architecture = { hiddenSize: 32, layers: 2, heads: 4, intermediateSize: 64 };
const base = tinyExperiment();
const file = {
  ...base,
  name: 'history',
  world: {
    type: 'toolbox',
    tools: 2,
    symbols: 4,
    maxLength: 8,
    baseLengths: [3, 6],
    heldOutLengths: [1, 2],
    heldOutPerCell: 1,
    baseTasks: 16,
    warmUp: { easyTail: 0.5 },
  },
  environment: {
    ...(base.environment as object),
    model: { type: 'scratch', architecture, warmUp: { rows: 9600, batch: 32, learningRate: 0.01 } },
    sampling: { maxTokens: 12 },
    training: { learningRate: 0.003, stepsPerEpoch: 20, recordsPerStep: 64, maxKl: null, klCoefficient: 0 },
  },
  agent: { ...(base.agent as object), sampling: { maxTokens: 14 } },
};

const telling = (success: number): AgentHistory => ({
  ...emptyHistory(),
  success,
  difficulty: 4,
  byKind: { T: { successes: 100 * success, attempts: 100 }, U: { successes: 100 * success, attempts: 100 } },
});

test('the same seeds under a history of 0.1 and of 0.9 give different difficulty after training, and did not before', async () => {
  const experiment = parseExperiment(file);
  const world = createWorld(experiment.world);
  const python = new Python(pythonPath(), process.env);
  const ports = {
    ...plainDependencies(stack.home, stack.policyUrl, residentLauncher(python, stack.trainerSocket)),
    python,
  };
  const server = createCompletionsClient({ baseUrl: stack.policyUrl, apiKey: undefined, timeoutMs: 30_000 });
  const activities = createActivities(ports);
  const { plan, prepared } = await begin(activities, 'history', file);
  const { state } = prepared;
  const seeds = Array.from(
    { length: 16 },
    (_, index) => `${index % 2 === 0 ? 'T' : 'U'}:${'abcd'.repeat(2).slice(index % 4, (index % 4) + 5)}`,
  );

  const write = async (policy: PolicyVersion, success: number) => {
    const prompts = seeds.map((seed) => world.environmentPrompt(telling(success), seed));
    const completions = await server.complete(
      { model: policy.name, prompts, n: 16, seed: 11, temperature: 1, maxTokens: 12 },
      new AbortController().signal,
    );
    return completions.flatMap((completion) => {
      const parsed = world.parseTask(completion.text);
      return parsed.valid
        ? [{ completion, spec: parsed.spec, difficulty: world.difficulty(parsed.spec) }]
        : [];
    });
  };
  const difference = async (policy: PolicyVersion): Promise<number> =>
    mean((await write(policy, 0.9)).map(({ difficulty }) => difficulty))! -
    mean((await write(policy, 0.1)).map(({ difficulty }) => difficulty))!;

  const before = await difference(state.environment);
  const records: EnvironmentPoolRecord[] = [];
  for (const success of [0.1, 0.9]) {
    for (const { completion, spec, difficulty } of await write(state.environment, success)) {
      const wanted = success < 0.5 ? difficulty <= 3 : difficulty >= 5;
      const { prompt_token_ids, token_ids, logprobs, text, finish_reason } = completion;
      records.push({
        id: `epoch-0001/task-${records.length}`,
        epoch: 1,
        signature: `${spec}/${records.length}`,
        kind: world.kind(spec),
        history_success: success,
        env_reward: wanted ? 1 : 0,
        guard: 1,
        sampled: {
          policy_version: state.environment.name,
          seed: 11,
          temperature: 1,
          prompt_token_ids,
          token_ids,
          logprobs,
          text,
          finish_reason,
        },
      });
    }
  }
  const environmentPool = await ports.store.putRecords(records);
  const { policy } = await activities.trainEnvironment({
    run: plan.run,
    epoch: 1,
    state,
    environmentPool,
    decisions: environmentPool,
  });
  await activities.publishPolicy({ run: plan.run, policy });
  const after = await difference(policy);
  expect(Math.abs(before)).toBeLessThan(0.6);
  expect(after).toBeGreaterThan(1);
}, 180_000);
