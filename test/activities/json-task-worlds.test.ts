import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { randomStream } from '../../src/numerics/random.ts';
import type { RandomStream } from '../../src/numerics/random.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type { TaskRecord } from '../../src/types/records.ts';
import type { CallsTask } from '../../src/worlds/calls/task-schema.ts';
import { worldLoader } from '../../src/worlds/registry.ts';
import type { TravelTask } from '../../src/worlds/travel/task-schema.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { pretrainedModel } from './some-run.ts';

/** What the simulator makes of a seed task, and the task as it truly is, which the agent knows. */
type Vary = (seed: string, random: RandomStream) => { written: object | string; truth: object };

/** A small run of two adapters in a world whose tasks are in experiments/tasks/. */
async function runOf(type: 'calls' | 'travel', vary: Vary, fields: Record<string, unknown> = {}) {
  const home = await temporaryFolder();
  const model = await pretrainedModel();
  const file = withFields(exampleFile, {
    epochs: 2,
    world: { type, tasksFile: { path: join(repository, `experiments/tasks/${type}.jsonl`) } },
    'agent.model': model,
    'environment.model': model,
    'agent.sampling.maxTokens': 4000,
    'environment.sampling.maxTokens': 8000,
    'environment.promptsPerEpoch': 4,
    'agent.rolloutsPerTask': 4,
    'evaluation.every': 2,
    'durability.promptsPerRequest': 4,
    serving: {
      type: 'openai',
      baseUrl: 'http://127.0.0.1:1/v1',
      publish: 'vllm-lora',
      returnsTokenIds: true,
    },
    ...fields,
  });
  const world = await worldLoader(undefined, ['/'])(parseExperiment(file).world);
  const right = new Map<string, string>();
  const know = (spec: string, truth: string): void =>
    void right.set(world.agentPrompt(spec), world.referenceAnswer(truth));
  for (const spec of [...world.baseTasks(randomStream(0)), ...world.heldOutTasks(randomStream(0))])
    know(spec, spec);
  const write = (prompt: string, random: RandomStream): string => {
    const { written, truth } = vary(/Task to vary: (.+)/.exec(prompt)![1]!, random);
    const text = typeof written === 'string' ? written : JSON.stringify(written);
    const [parsed, really] = [world.parseTask(text), world.parseTask(JSON.stringify(truth))];
    if (parsed.valid && really.valid) know(parsed.spec, really.spec);
    return text;
  };
  const answer = (prompt: string, random: RandomStream): string =>
    random.next() < 0.85 ? right.get(prompt)! : 'I cannot say.';
  const server = await FakeModelServer.start({
    model: (prompt, random, name) => (name.startsWith('environment') ? write : answer)(prompt, random),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const ports = plainDependencies(home, server.url, new FakeTrainer());
  const activities = createActivities(ports);
  const { plan, prepared } = await begin(activities, `some-${type}`, file);
  let committed: CommittedEpoch = prepared;
  for (let epoch = 0; epoch < 2; epoch++) committed = await plainEpoch(activities, plan, committed);
  const lines = await (await ports.runFolder(`some-${type}`).open<LedgerEntry>())!.ledger.read();
  return {
    committed,
    prepared,
    tasks: await collect(ports.store.records<TaskRecord>(lines.at(-1)!.outputs.tasks!)),
  };
}

/** Another errand in other words; a fifth no JSON, a third with a label that is not so. */
const varyCalls: Vary = (seed, random) => {
  const truth = JSON.parse(seed) as CallsTask;
  truth.dialogue.at(-1)!.content += ` Thank you, that is errand ${random.int(10_000)}.`;
  if (random.next() < 0.2) return { written: 'Sure! Here is a task:', truth };
  const written = structuredClone(truth);
  const [parameter] =
    Object.entries(written.calls[0]!.arguments).find(
      ([, [value]]) => typeof value === 'string' && value !== '',
    ) ?? [];
  if (parameter !== undefined && random.next() < 0.4)
    written.calls[0]!.arguments[parameter] = ['somewhere else entirely'];
  return { written, truth };
};

/** Another budget, which a third of the time no plan can keep. */
const varyTravel: Vary = (seed, random) => {
  const truth = JSON.parse(seed) as TravelTask;
  truth.query.budget += random.int(1000);
  const written = structuredClone(truth);
  if (random.next() < 0.3) written.query.budget = 5;
  return { written, truth };
};

describe('a run of the world `calls`', () => {
  it.each(['bfcl', 'api-bank'])(
    'in the style %s goes through all phases; labels that are not so are voted down',
    async (style) => {
      const {
        committed: { metrics, state },
        prepared,
        tasks,
      } = await runOf('calls', varyCalls, { 'world.style': style, 'agent.training.formatReward': 0.1 });
      expect(metrics['env/repairs']).toBeGreaterThan(0);
      expect(metrics['env/success_rate']).toBeGreaterThan(0.4);
      expect(metrics['env/label_votes']).toBeGreaterThan(20);
      const unconfirmed = tasks.filter(({ invalid_reason }) => invalid_reason === 'label_unconfirmed');
      expect(
        unconfirmed.filter(({ sampled }) => sampled!.text.includes('somewhere else')).length,
      ).toBeGreaterThan(0);
      expect(tasks.filter(({ valid }) => valid).length).toBeGreaterThan(5);
      expect(tasks.some(({ valid, spec }) => valid && spec!.includes('somewhere else'))).toBe(false);
      expect(metrics['eval/heldout']).toBeGreaterThan(0.3);
      expect(state.agent.name).not.toBe(prepared.state.agent.name);
      expect(state.environment.name).not.toBe(prepared.state.environment.name);
    },
  );
});

describe('a run of the world `travel`', () => {
  it('goes through all phases without a vote; tasks that their own plan does not solve are none', async () => {
    const {
      committed: { metrics, state },
      prepared,
      tasks,
    } = await runOf('travel', varyTravel, { 'world.repairs': 0 });
    expect(metrics['env/label_votes']).toBeUndefined();
    expect(metrics['env/invalid/plan_fails']).toBeGreaterThan(0);
    expect(metrics['env/success_rate']).toBeGreaterThan(0.4);
    expect(metrics['eval/heldout']).toBeGreaterThan(0.3);
    expect(
      tasks.some(({ valid, spec }) => valid && (JSON.parse(spec!) as TravelTask).query.budget === 5),
    ).toBe(false);
    expect(state.agent.name).not.toBe(prepared.state.agent.name);
    expect(state.environment.name).not.toBe(prepared.state.environment.name);
  });
});
