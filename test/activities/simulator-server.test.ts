import { expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { EndpointRefused } from '../../src/inference/endpoints.ts';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { resolveFork } from '../../src/runs/fork.ts';
import { withFields } from '../../test-support/experiments.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { pretrainedModel } from './some-run.ts';
import { runWithApi } from './two-servers.ts';

const writer = {
  type: 'openai',
  baseUrl: 'endpoint:api',
  model: 'environment-writer',
  api: 'chat',
  structuredOutput: 'json_schema',
};

/** The agent is trained on the embedded server; its simulator is the API's. */
const splitRun = (agentPath: string, permits = true) =>
  runWithApi(
    {
      arm: { type: 'best-of-n', candidates: 2, exemplars: 2 },
      'world.simulatorFormat': 'plain',
      'agent.model': { type: 'pretrained', path: agentPath, adapter: {} },
      'environment.model': { type: 'pretrained', path: 'writer' },
      'environment.serving': writer,
    },
    { permits, player: { invalid: 0.3 } },
  );

it('asks one server for tasks and trains the agent of another, with the same bytes again', async () => {
  const { path } = await pretrainedModel();
  const run = await splitRun(path);
  const first = await plainEpoch(run.activities, run.plan, run.prepared);
  const second = await plainEpoch(run.activities, run.plan, first);

  expect(second.state.environment).toEqual({ name: writer.model, checkpoint: null, trainer_state: null });
  expect(second.state.agent.name).toMatch(/^agent@0002/);
  expect(new Set(run.api.chats.map(({ model }) => model))).toEqual(new Set([writer.model]));
  expect(run.api.requests).toEqual([]);
  expect(run.own.requests.length).toBeGreaterThan(10);
  expect(run.own.requests.every(({ model }) => model.startsWith('agent@'))).toBe(true);
  expect(new Set(run.trainer.jobs.map(({ job: { kind } }) => kind))).toEqual(new Set(['supervised', 'grpo']));

  // The agent's server applies no template, the simulator's does.
  expect(run.own.requests.every(({ prompt }) => String(prompt[0]).startsWith('<|im_start|>'))).toBe(true);
  expect(run.api.chats.some(({ messages: [message] }) => message!.content.includes('<|im_'))).toBe(false);
  expect(run.api.chats.every(({ response_format: form }) => form !== undefined)).toBe(true);

  const again = await splitRun(path);
  await plainEpoch(
    again.activities,
    again.plan,
    await plainEpoch(again.activities, again.plan, again.prepared),
  );
  expect(await again.ledger()).toBe(await run.ledger());
});

it('counts what each server has sampled and read', async () => {
  const { path } = await pretrainedModel();
  const run = await splitRun(path);
  const { metrics } = await plainEpoch(run.activities, run.plan, run.prepared);
  const [, recorded] = await run.metrics();
  const written = run.api.chats.map(({ messages: [message] }) => message!.content.length);
  expect(recorded!['usage/simulator_prompt_tokens']).toBe(written.reduce((sum, length) => sum + length, 0));
  expect(recorded!['usage/simulator_completion_tokens']).toBeGreaterThan(1000);
  expect(recorded!['usage/completion_tokens']).toBeGreaterThan(
    recorded!['usage/simulator_completion_tokens']!,
  );
  expect(metrics.num_tokens).toBeGreaterThan(recorded!['usage/simulator_completion_tokens']!);
});

it('waits for the simulator’s server by its own name, and continues with what was answered', async () => {
  const { path } = await pretrainedModel();
  const undisturbed = await splitRun(path);
  await plainEpoch(undisturbed.activities, undisturbed.plan, undisturbed.prepared);
  const run = await splitRun(path);
  const input = { run: run.plan.run, epoch: 1, state: run.prepared.state, shard: 0, shards: 1 };
  run.failsAfter(9);
  const outage = await run.activities.generateTasks(input).catch((error: unknown) => error);
  expect(outage).toBeInstanceOf(ModelUnavailable);
  expect(outage).toMatchObject({ server: run.api.url });
  const before = run.api.chats.length;
  run.failsAfter(Infinity);
  await plainEpoch(run.activities, run.plan, run.prepared);
  expect(await run.ledger()).toBe(await undisturbed.ledger());
  // What had been answered is not asked again: a request is two prompts with four candidates each.
  const first = run.api.chats[0]!;
  expect(run.api.chats.slice(before)).not.toContainEqual(first);
});

it('asks no server that the operator has not permitted', async () => {
  const { path } = await pretrainedModel();
  await expect(splitRun(path, false)).rejects.toThrow(EndpointRefused);
});

it('is another run with another model: no fork', async () => {
  const { path } = await pretrainedModel();
  const run = await splitRun(path);
  const fork = (model: string) =>
    resolveFork(
      run.ports,
      'fork',
      parseExperiment(withFields(run.file, { 'environment.serving.model': model })),
      {
        run: 'split',
        epoch: 0,
      },
    );
  expect(await fork(writer.model)).toMatchObject({ epoch: 0 });
  await expect(fork('environment-other')).rejects.toThrow(
    'these differ (environment.serving.model: was "environment-writer", is "environment-other")',
  );
});
