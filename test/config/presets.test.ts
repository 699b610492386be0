import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { armName, privilegeOf } from '../../src/config/arms.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { presets } from '../../src/config/presets.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { exampleFile, experimentFile, withFields } from '../../test-support/experiments.ts';

const bare = withFields(exampleFile, { 'agent.training': undefined });
const withArm = (arm: unknown, fields: Record<string, unknown> = {}) =>
  parseExperiment(withFields(bare, { arm, ...fields }));
const paper = withArm({ type: 'genenv', preset: 'paper' });
const tuned = withArm({ type: 'genenv', preset: 'tuned' });

describe('the preset `paper`', () => {
  it('is the published method', () => {
    expect(paper.difficulty).toEqual({ alpha: 0.5, beta: 2, per: 'batch' });
    expect(paper.filter).toEqual({ type: 'threshold', kMin: 0.1, appliesTo: ['environment'] });
    expect(paper.agent).toMatchObject({
      rolloutsPerTask: 8,
      training: {
        learningRate: 1e-6,
        klCoefficient: 0.001,
        entropyCoefficient: 0.001,
        clipLow: 0.2,
        clipHigh: 0.2,
        scaleByStd: true,
        dropZeroVariance: false,
        lossType: 'grpo',
        batchSize: 64,
      },
    });
    expect(paper.agent.training).not.toHaveProperty('stepsPerEpoch');
    expect(paper.environment.training).toMatchObject({
      lambda: 1,
      learningRate: 5e-7,
      weightClip: 20,
      stepsPerEpoch: null,
      recordsPerStep: 64,
      klEstimator: 'exact',
      maxKl: null,
      maxStepKl: 0.01,
    });
    expect(paper.environment.seedOrder).toBe('passes');
    expect(paper.pools.environment).toMatchObject({ window: 1, deduplicate: false });
    expect(paper.guards).toMatchObject({ discrimination: false, familyCap: null });
    expect(paper.environment.initialShare).toBe(0);
  });
});

describe('labels that the simulator writes', () => {
  const qwen = experimentFile('qwen2.5-7b');
  const withPreset = (preset: string, fields: Record<string, unknown> = {}) =>
    parseExperiment(withFields(qwen, { 'arm.preset': preset, 'world.vote': undefined, ...fields })).world;
  const calls = { world: experimentFile('calls').world };

  it('are believed by `paper`, as the paper does, and put to the vote by `tuned`', () => {
    const believed = { vote: null, band: null };
    expect([withPreset('paper'), withPreset('paper', calls)]).toMatchObject([believed, believed]);
    expect(withPreset('paper', { world: experimentFile('travel').world })).toMatchObject({ band: null });
    const vote = { votes: 5, agreement: 0.8 };
    const checked = { vote, band: [0.4, 0.6] };
    expect([withPreset('tuned'), withPreset('tuned', calls)]).toMatchObject([checked, checked]);
  });

  it('are put to the vote by `paper` too if the file says so', () => {
    expect(withPreset('paper', { 'world.vote': { votes: 3 } })).toMatchObject({
      vote: { votes: 3, agreement: 0.8 },
    });
  });

  it('exist in no other world, where the preset has no such field', () => {
    expect(paper.world).not.toHaveProperty('vote');
  });
});

describe('the preset `tuned`', () => {
  it('is the method at small scale', () => {
    expect(tuned.difficulty).toEqual({ alpha: 0.5, beta: 8, per: 'task' });
    expect(tuned.filter).toEqual({ type: 'off' });
    expect(tuned.agent).toMatchObject({
      rolloutsPerTask: 8,
      training: {
        clipLow: 0.2,
        clipHigh: 0.28,
        scaleByStd: false,
        dropZeroVariance: true,
        lossType: 'dapo',
        minInformativeGroups: 1,
      },
    });
    expect(tuned.environment.training).toMatchObject({ lambda: 5, weightClip: 20, maxKl: 1 });
    expect(tuned.pools.environment.deduplicate).toBe(true);
    expect([1, 2]).toContain(tuned.pools.environment.window);
    expect(tuned.guards.discrimination).toBe(true);
    expect(tuned.environment.initialShare).toBeGreaterThanOrEqual(0.1);
    expect(tuned.environment.initialShare).toBeLessThanOrEqual(0.2);
  });
});

describe('the arm `random`', () => {
  it('is the tuned method with a frozen simulator', () => {
    const random = withArm({ type: 'random' });
    expect(random.environment.training).toBeNull();
    expect(random.agent.training).toEqual(tuned.agent.training);
    expect({ ...random, arm: tuned.arm, environment: tuned.environment }).toEqual(tuned);
  });
});

describe('the arms without a trained simulator', () => {
  it.each([
    { type: 'static' },
    { type: 'offline', source: { type: 'file', path: 'tasks.jsonl' } },
    { type: 'selection' },
    { type: 'window' },
    { type: 'uniform' },
    { type: 'oracle' },
    { type: 'evolved' },
    { type: 'selection', predictor: 'text' },
  ])('differ from `random` in where tasks come from alone: $type', (arm) => {
    const random = withArm({ type: 'random' });
    const experiment = withArm(arm);
    expect({ ...experiment, arm: random.arm }).toEqual(random);
    expect(parseExperiment(JSON.parse(JSON.stringify(experiment)))).toEqual(experiment);
  });

  it.each([
    [{ type: 'random' }, null],
    [{ type: 'evolved' }, null],
    [{ type: 'selection' }, 'how hard each task is'],
    [{ type: 'selection', predictor: 'text' }, null],
    [{ type: 'best-of-n', predictor: 'difficulty' }, 'how hard each task is'],
    [{ type: 'oracle' }, 'how hard tasks are, and may ask for tasks of any difficulty'],
    [{ type: 'uniform' }, 'the cells of the held-out tasks'],
    [{ type: 'offline', source: { type: 'code' } }, 'the cells of the held-out tasks'],
    [{ type: 'offline', source: { type: 'file', path: 'tasks.jsonl' } }, 'the tasks of another author'],
  ])('say what they are told: %j', (arm, privilege) => {
    expect(privilegeOf(withArm(arm).arm)).toBe(privilege);
  });

  it('are named by their size where they have one', () => {
    const source = { type: 'file', path: 'tasks.jsonl' };
    expect(
      [
        withArm({ type: 'offline', source }),
        withArm({ type: 'offline', multiple: 4, source }),
        withArm({ type: 'static' }),
        paper,
      ].map(({ arm }) => armName(arm)),
    ).toEqual(['offline-2x', 'offline-4x', 'static', 'genenv-paper']);
  });
});

describe('a value of the file', () => {
  it('wins over the preset, and only there', () => {
    const changed = withArm(
      { type: 'genenv', preset: 'paper' },
      { 'agent.training': { learningRate: 3e-4 }, 'difficulty.alpha': 0.6 },
    );
    expect(changed.agent.training).toEqual({ ...paper.agent.training, learningRate: 3e-4 });
    expect(changed.difficulty).toEqual({ ...paper.difficulty, alpha: 0.6 });
  });

  it('that gives steps takes the preset’s batch size away, and the other way round', () => {
    const trained = (preset: string, fields: Record<string, unknown>) =>
      withArm({ type: 'genenv', preset }, { 'agent.training': fields }).agent.training;
    expect(trained('paper', { stepsPerEpoch: 2 })).not.toHaveProperty('batchSize');
    expect(trained('tuned', { batchSize: 16 })).not.toHaveProperty('stepsPerEpoch');
    expect(() => trained('paper', { stepsPerEpoch: 2, batchSize: 16 })).toThrow(
      'agent.training.batchSize: got 16 with stepsPerEpoch 2; expected one of the two',
    );
  });

  it('chooses another variant whole: nothing of the preset’s is left', () => {
    expect(withArm({ type: 'genenv', preset: 'paper' }, { filter: { type: 'topK', k: 4 } }).filter).toEqual({
      type: 'topK',
      k: 4,
      appliesTo: ['environment'],
    });
    expect(
      withArm({ type: 'genenv', preset: 'paper' }, { filter: { type: 'threshold', appliesTo: ['agent'] } })
        .filter,
    ).toEqual({ type: 'threshold', kMin: 0.1, appliesTo: ['agent'] });
  });

  it('may be null, which freezes a policy', () => {
    expect(
      withArm({ type: 'genenv', preset: 'tuned' }, { 'agent.training': null }).agent.training,
    ).toBeNull();
  });
});

describe('the resolved experiment', () => {
  const shipped = ['laptop', 'paper-laptop', 'random-laptop'];

  it.each(shipped)('of experiments/%s.json is one, and parsing it again changes nothing', (name) => {
    const once = parseExperiment(experimentFile(name));
    expect(once).not.toHaveProperty('$schema');
    expect(parseExperiment(JSON.parse(JSON.stringify(once)))).toEqual(once);
  });

  // `npx vitest run test/config -u` writes both files anew from laptop.json.
  it.each([
    [
      'paper-laptop',
      {
        arm: { type: 'genenv', preset: 'paper' },
        difficulty: undefined,
        filter: undefined,
        pools: undefined,
        guards: undefined,
        'agent.training': undefined,
        'environment.training': undefined,
        'environment.initialShare': undefined,
      },
    ],
    ['random-laptop', { arm: { type: 'random' }, 'environment.training': undefined }],
  ])('of %s differs from the laptop’s in the method alone', async (name, fields) => {
    const file = withFields(experimentFile('laptop'), { name, ...fields });
    await expect(`${JSON.stringify(file, null, 2)}\n`).toMatchFileSnapshot(`../../experiments/${name}.json`);
  });

  it('of the paper at laptop scale keeps the preset’s values', () => {
    expect(parseExperiment(experimentFile('paper-laptop'))).toMatchObject(presets.paper);
  });

  it('has the same hash whatever the order of its fields', () => {
    const expected = hashOf(parseExperiment(exampleFile));
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.nat()),
        (numbers) => hashOf(parseExperiment(reordered(exampleFile, numbers))) === expected,
      ),
      { numRuns: 20 },
    );
    expect(hashOf(parseExperiment(withFields(exampleFile, { seed: 1 })))).not.toBe(expected);
  });
});

function reordered(value: unknown, numbers: Iterator<number>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => ({
    key,
    item: reordered(item, numbers),
    at: Number(numbers.next().value),
  }));
  return Object.fromEntries(entries.sort((a, b) => a.at - b.at).map(({ key, item }) => [key, item]));
}
