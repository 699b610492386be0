import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { World } from '../../src/worlds/world.ts';
import type { TrainedJob } from '../../test-support/fake-trainer.ts';
import { begin, createActivities } from '../../test-support/plain-epochs.ts';
import { pretrainedModel, smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';
import { withFields } from '../../test-support/experiments.ts';

const warmUp = { rows: 40, batch: 16, learningRate: 1e-3, schedule: 'linear', warmupSteps: 2 };

async function pretrained(fields: object): Promise<Record<string, unknown>> {
  const model = await pretrainedModel(fields);
  return { 'agent.model': model, 'environment.model': model, 'agent.training.klCoefficient': 0.01 };
}

const jobsOf = ({ trainer }: SomeRun, kind: string): TrainedJob[] =>
  trainer.jobs.filter(({ job }) => job.kind === kind);

const referencesOf = (run: SomeRun) => ({
  agent: jobsOf(run, 'grpo').map(({ job }) => job.reference?.path ?? null),
  environment: jobsOf(run, 'rwr').map(({ job }) => job.reference?.path ?? null),
});

/** The initial policies are the reference of both updates, in every epoch. */
function initialOf({ prepared, dependencies }: SomeRun) {
  const { agent, environment } = prepared.state;
  const [a, e] = [agent, environment].map(({ checkpoint }) => dependencies.store.path(checkpoint!));
  return { agent: [a, a], environment: [e, e] };
}

describe('a pretrained model with a warm-up', () => {
  it.each([
    ['an adapter', { adapter: {} }],
    ['full weights', { adapter: null }],
  ])('starts from its cold start: %s', async (_, { adapter }) => {
    const run = await someRun(await pretrained({ adapter, warmUp }), { success: () => 0.5 });
    const coldStarts = jobsOf(run, 'supervised');
    expect(coldStarts).toHaveLength(2);
    for (const { job, records } of coldStarts) {
      expect(records).toHaveLength(40);
      expect(records.map(({ step }) => step)).toEqual(records.map((_record, row) => Math.floor(row / 16)));
      expect(Object.keys(records[0]!).toSorted()).toEqual(['completion', 'prompt', 'step', 'weight']);
      expect(job.adapter).toEqual(adapter === null ? null : expect.objectContaining({ r: 32 }));
      expect(job.settings).toMatchObject({
        learning_rate: 1e-3,
        schedule: 'linear',
        schedule_steps: 3,
        warmup_steps: 2,
        tokens_per_micro_batch: 1024,
      });
    }
    await run.epochs(2);
    expect(new Set(run.trainer.jobs.map(({ job }) => job.settings.batch_layout))).toEqual(
      new Set(['packed']),
    );
    expect(referencesOf(run)).toEqual(initialOf(run));
    expect(initialOf(run).agent[0]).not.toBe(initialOf(run).environment[0]);
  });

  it('of several turns is trained on texts, not on the characters of a model from scratch', async () => {
    const run = await someRun();
    const file = withFields(smallFile, {
      ...(await pretrained({ adapter: {}, warmUp })),
      world: { type: 'minidesk' },
      'agent.sampling.maxTokens': 100,
      'environment.sampling.maxTokens': 100,
    });
    const { run: desk } = await run.activities.parseExperiment({ id: 'desk', file });
    await run.activities.warmUp({ run: desk, role: 'agent' });
    const { records } = run.trainer.jobs.at(-1)!;
    const text: unknown = expect.any(String);
    expect(records.find((row) => 'more' in row)).toEqual({
      step: expect.any(Number) as number,
      prompt: text,
      completion: text,
      more: expect.arrayContaining([{ read: text, write: text }]) as unknown,
      weight: 1,
    });
  });

  it('is refused where a world has no rows for it', async () => {
    const run = await someRun(await pretrained({ adapter: {} }));
    const file = withFields(smallFile, await pretrained({ adapter: {}, warmUp }));
    const loadWorld: typeof run.dependencies.loadWorld = async (settings) => {
      const world: World = await run.dependencies.loadWorld(settings);
      return { ...world, warmUpCorpus: () => [] };
    };
    const activities = createActivities({ ...run.dependencies, loadWorld });
    await expect(begin(activities, 'no-corpus', file)).rejects.toThrow(
      /model\.warmUp: got 40 rows; the world "toolbox" has no corpus/,
    );
  });
});

it('a model from scratch keeps the padded batches that its bytes come from', async () => {
  const run = await someRun({}, { success: () => 0.5 });
  await run.epochs(1);
  const layouts = run.trainer.jobs.map(({ job }) => `${job.kind} ${job.settings.batch_layout}`);
  expect(new Set(layouts)).toEqual(new Set(['supervised padded', 'grpo padded', 'rwr padded']));
});

describe('a pretrained model without a warm-up', () => {
  it.each([
    ['with an adapter is its own reference', { adapter: {} }, false],
    ['with full weights has its initial weights as reference', { adapter: null }, true],
  ])('%s', async (_, fields, hasReference) => {
    const run = await someRun(await pretrained(fields), { success: () => 0.5 });
    expect(jobsOf(run, 'supervised').map(({ records }) => records)).toEqual([[], []]);
    await run.epochs(2);
    const none = { agent: [null, null], environment: [null, null] };
    expect(referencesOf(run)).toEqual(hasReference ? initialOf(run) : none);
  });

  it('whose folder is an adapter has that adapter as reference', async () => {
    const fields = await pretrained({ adapter: {} });
    const { path } = fields['agent.model'] as { path: string };
    await writeFile(join(path, 'adapter_config.json'), '{}');
    const run = await someRun(fields, { success: () => 0.5 });
    await run.epochs(2);
    expect(referencesOf(run)).toEqual(initialOf(run));
  });
});

describe('the check of a cold start', () => {
  const coldStart = { tasks: 12, minValid: 0.8 };

  it('states valid tasks and success in the first ledger line', async () => {
    const run = await someRun({ 'guards.coldStart': coldStart }, { success: () => 1 });
    expect(run.prepared.metrics).toMatchObject({
      'cold_start/valid_tasks': 1,
      'cold_start/success_rate': 1,
      'cold_start/well_formed': 1,
    });
    expect(run.prepared.notes).toEqual([
      'cold start: 100 % of 12 tasks valid; the agent solves 100 % of its attempts at 12 base tasks, ' +
        '100 % of its answers have the right form',
    ]);
  });

  it('ends a run whose simulator writes no tasks, and shows what it wrote', async () => {
    const player = { invalid: { share: 0.7, texts: ['I cannot\nwrite a task'] } };
    await expect(someRun({ 'guards.coldStart': coldStart }, player)).rejects.toThrow(
      /cold start: [0-9] of 12 tasks of the initial simulator are valid; guards\.coldStart\.minValid asks for 0\.8\. \d+ \w+, such as "I cannot\\nwrite a task"\. What may help: .*a longer environment\.model\.warmUp, a larger model$/,
    );
  });

  it('is left out unless the file asks for it', async () => {
    const run = await someRun();
    expect(Object.keys(run.prepared.metrics)).not.toContain('cold_start/valid_tasks');
    expect(run.prepared.notes).toEqual([]);
  });
});
