import { describe, expect, it } from 'vitest';
import { forkedExperiment } from '../../src/cli/lib/forked-experiment.ts';
import { parseAssignments } from '../../src/cli/lib/options.ts';
import { opening } from '../../test-support/opening.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { someRun } from '../activities/some-run.ts';

const parent = 'some-run';

describe('the experiment of a fork', () => {
  it('has the settings in effect at its epoch, some set otherwise, and starts there', async () => {
    const run = await someRun();
    await run.activities.retuneExperiment({ id: parent, set: { 'difficulty.beta': 4 }, fromEpoch: 1 });
    await run.activities.retuneExperiment({ id: parent, set: { 'difficulty.beta': 5 }, fromEpoch: 2 });
    for (const epoch of [1, 2]) {
      const { last, ...plan } = await run.activities.openEpoch(opening(parent, epoch - 1));
      await plainEpoch(run.activities, { ...run.plan, ...plan }, last!);
    }
    const experiment = await forkedExperiment(run.home, {
      parent,
      id: 'fork',
      epoch: 1,
      set: { 'difficulty.alpha': 0.4, seed: 9 },
    });
    expect(experiment).toMatchObject({
      name: 'example',
      difficulty: { alpha: 0.4, beta: 4 },
      seed: 9,
      startFrom: { run: parent, epoch: 1 },
    });
    await run.activities.parseExperiment({ id: 'fork', file: experiment });
    // eslint-disable-next-line id-denylist -- a field of an activity input
    expect((await run.activities.openEpoch({ id: 'fork', known: null, thorough: true })).last?.epoch).toBe(1);
  });

  it('may have fields that its parent left out', async () => {
    const run = await someRun();
    await run.epochs(1);
    const set = { 'evaluation.excludeHeldOut': true, 'agent.training.dynamicSampling.informativeGroups': 4 };
    expect(await forkedExperiment(run.home, { parent, id: 'fork', epoch: 1, set })).toMatchObject({
      evaluation: { excludeHeldOut: true },
      agent: { training: { dynamicSampling: { informativeGroups: 4 } } },
    });
  });

  it.each<[object, number, string]>([
    [{ 'difficulty.alfa': 1 }, 1, 'difficulty.alfa: unknown field; '],
    [{ 'difficulty.alpha': 7 }, 1, 'difficulty.alpha: got 7'],
    [{}, 4, 'startFrom.epoch: got 4; some-run has epochs 0 to 1'],
    [{ epochs: 1 }, 1, 'epochs: got 1; expected more than startFrom.epoch (1)'],
  ])('refuses %j at epoch %i before anything is started', async (set, epoch, message) => {
    const run = await someRun();
    await run.epochs(1);
    await expect(
      forkedExperiment(run.home, { parent, id: 'fork', epoch, set: { ...set } }),
    ).rejects.toMatchObject({ name: 'InvalidConfig', message: expect.stringContaining(message) as string });
  });
});

it('values are JSON where they can be, else text', () => {
  expect(
    parseAssignments(['a.b=0.4', 'c=null', 'd=true', 'e=http://x?y=1', 'f={"g":[1]}', 'h=', 'i="1"']),
  ).toEqual({ 'a.b': 0.4, c: null, d: true, e: 'http://x?y=1', f: { g: [1] }, h: '', i: '1' });
  expect(() => parseAssignments(['alpha'])).toThrow(
    'got "alpha"; expected key=value, such as difficulty.alpha=0.4',
  );
});
