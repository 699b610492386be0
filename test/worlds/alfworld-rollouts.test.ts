import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import {
  countCharacters,
  longestRequests,
  measurePrompts,
  promptTexts,
} from '../../src/runs/prompt-sizes.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { TraceRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';

const file = withFields(experimentFile('alfworld'), {
  epochs: 1,
  'world.heldOutPerCell': 1,
  'world.turns': 8,
  'world.baseTasks': 8,
  'environment.promptsPerEpoch': 2,
  'agent.rolloutsPerTask': 4,
  'agent.model.warmUp.rows': 96,
  'environment.model.warmUp.rows': 64,
});
const world = createWorld(parseExperiment(file).world);
const spec = 'pm>H|Cm,H';
const plan = world.referenceAnswer(spec).split('\n');

/** An agent that follows the plan, and errs in its first action now and then; character 0 ends an action. */
const player: FakeModel = (prompt, random, model) => {
  if (model.startsWith('environment')) return spec;
  const acts = prompt.split('\0').length - 1;
  return acts === 0 && random.next() < 0.3 ? 'xxx' : (plan[acts] ?? 'gC1');
};

it('plays in the world’s own words: the simulator is asked for tasks and for nothing else', async () => {
  const home = await mkdtemp(join(tmpdir(), 'genenv-house-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const server = await FakeModelServer.start({ model: player, seedRule: 'embedded' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const dependencies = plainDependencies(home, server.url, new FakeTrainer());
  const activities = createActivities(dependencies);
  const { plan: run, prepared } = await begin(activities, 'house', file);
  const { metrics } = await plainEpoch(activities, run, prepared);

  const simulatorRequests = server.requests.filter(({ model }) => model.startsWith('environment'));
  expect(simulatorRequests.every(({ prompt }) => prompt.length > 0)).toBe(true);
  for (const { prompt } of simulatorRequests) for (const text of prompt) expect(text).toMatch(/^H/);
  expect(Object.keys(metrics)).not.toContain('env/inconsistent');

  const ledger = await dependencies.runFolder('house').ledger<LedgerEntry>(run.run.experiment.sha256).read();
  const { traces } = ledger.at(-1)!.outputs;
  const shards = await Promise.all(
    traces.map((ref) => collect(dependencies.store.records<TraceRecord>(ref))),
  );
  const rollouts = shards.flat();
  expect(rollouts.length).toBeGreaterThan(0);
  for (const { sampled, turns = [] } of rollouts) {
    const transcript = turns.map(({ action, observation }) => `${action}\0${observation ?? ''}`).join('');
    expect(String.fromCharCode(...sampled.prompt_token_ids, ...sampled.token_ids)).toBe(
      world.agentPrompt(spec) + transcript,
    );
    for (const { wording, consistent } of turns) expect([wording, consistent]).toEqual([null, true]);
  }
  const solved = rollouts.filter(({ sampled: { text } }) => text === plan.join('\n'));
  expect(solved.length).toBeGreaterThan(0);
  expect(solved[0]!.turns!.map(({ observation }) => observation)).toEqual(['x=', 'm1=', 'ok=', '-=', null]);
  expect(rollouts.some(({ sampled: { text } }) => text.startsWith('xxx'))).toBe(true);
});

it('is estimated by what the world says between turns, not by what a simulator could', async () => {
  const experiment = parseExperiment(experimentFile('alfworld'));
  const house = createWorld(experiment.world);
  const texts = promptTexts(experiment, house);
  const sizes = await measurePrompts(texts, countCharacters);
  expect(texts.observations).toContain('x=');
  const { turns, objects } = experiment.world as { turns: number; objects: number };
  const { longest } = sizes.observation!;
  expect(longest).toBeLessThanOrEqual(2 * objects + 1);
  const { maxTokens } = experiment.agent.sampling;
  expect(longestRequests(experiment, house, sizes).agent).toBe(
    sizes.agent.longest + turns * maxTokens + (turns - 1) * longest,
  );
  const desk = parseExperiment(experimentFile('minidesk'));
  expect(promptTexts(desk, createWorld(desk.world)).observations).toEqual([]);
});
