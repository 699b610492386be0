import { describe, expect, it, test } from 'vitest';
import type { Dependencies } from '../../src/activities/dependencies.ts';
import { activitiesByQueue } from '../../src/activities/index.ts';
import { inputSchemas } from '../../src/activities/input-schemas.ts';
import { fileRef, folderRef } from '../../src/store/references.ts';
import { policyName } from '../../src/types/run-state.ts';
import { opening } from '../../test-support/opening.ts';
import { checkInput, checkOwner } from '../../src/worker/activity-interceptor.ts';

const hash = (digit: string): string => digit.repeat(64);
const experiment = fileRef(hash('e'), '.json', 1, 1);
const checkpoint = folderRef(hash('c'), 1, 1);
const run = { id: 'laptop', experiment };
const policy = { name: policyName('agent', 3, checkpoint.sha256), checkpoint, trainer_state: null };
const publish =
  (changes: object, outside: object = {}) =>
  () =>
    checkInput('publishPolicy', [{ run, policy: { ...policy, ...changes }, ...outside }]);

test('every activity that a worker registers has a schema, and no other has', () => {
  const { llm, cpu, gpu } = activitiesByQueue({} as Dependencies);
  const registered = [llm, cpu, gpu].flatMap((activities) => Object.keys(activities));
  // Two queues serve this one.
  const expected = [...Object.keys(inputSchemas), 'prepareRun'];
  expect(expected.toSorted()).toEqual(registered.toSorted());
});

describe('the input of an activity', () => {
  it('that this project sends is accepted', () => {
    publish({})();
    publish({ name: 'gpt-4o-mini', checkpoint: null })();
    publish({ name: 'meta-llama/Llama-3.1-8B', checkpoint: null })();
  });

  // The name becomes a file of the store, and the reference a path in it.
  it.each([
    ['a name that climbs out', publish({ name: '../../../PWNED/x' })],
    ['a name of other weights', publish({ name: policyName('agent', 3, hash('d')) })],
    ['a name with a newline', publish({ name: 'a\nb', checkpoint: null })],
    ['a path in a reference', publish({ checkpoint: { ...checkpoint, uri: '/etc' } })],
    ['a path that climbs out', publish({ checkpoint: { ...checkpoint, uri: '../../x/' } })],
    ['no policy', () => checkInput('publishPolicy', [{ run }])],
    ['another field', publish({}, { path: '/etc/passwd' })],
    ['another argument', () => checkInput('publishPolicy', [{ run, policy }, { more: true }])],
    ['nothing', () => checkInput('publishPolicy', [])],
    ['a run that climbs out', publish({}, { run: { ...run, id: '../other' } })],
    ['a run like an option', publish({}, { run: { ...run, id: '-rf' } })],
    ['a run like a prototype', publish({}, { run: { ...run, id: '__proto__' } })],
  ])('is refused if it has %s', (_, check) => {
    expect(check).toThrow(expect.objectContaining({ name: 'InvalidInput' }));
  });

  it('is refused for an activity that is in no table', () => {
    for (const name of ['newActivity', 'toString', '__proto__'])
      expect(() => checkInput(name, [{}])).toThrow('there is no schema');
  });

  it('is never quoted', () => {
    expect(publish({ name: 'SECRET\n' })).toThrow(/policy\.name/);
    expect(publish({ name: 'SECRET\n' })).not.toThrow(/SECRET/);
    expect(publish({ SECRET: 1 })).not.toThrow(/SECRET/);
  });

  it('of an end, a retune and an opening has a run of a plain name, and bounded numbers', () => {
    const end = { id: 'laptop', outcome: 'finished', epoch: 3 };
    checkInput('recordEnd', [end]);
    for (const wrong of [
      { ...end, type: 'note' },
      { ...end, epoch: '<script>' },
      { ...end, outcome: 'note' },
      { ...end, id: '_a' },
      { ...end, epoch: 1e9 },
    ])
      expect(() => checkInput('recordEnd', [wrong])).toThrow('recordEnd');
    expect(() => checkInput('retuneExperiment', [{ id: 'a', set: 3, fromEpoch: 1 }])).toThrow('set');
    expect(() => checkInput('openEpoch', [opening('a', -1)])).toThrow('known');
  });

  // Counts become lists and loops: each has the limit that a file has for the same field.
  it.each([
    ['generateTasks', 'shards', 128],
    ['rollOut', 'shard', 128],
    ['crossTasks', 'tasks', 1024],
    ['crossPlay', 'samples', 64],
    ['probeTasks', 'tasks', 1024],
    ['probeAttempts', 'attempts', 4096],
    ['answerCases', 'to', 1_000_000],
    ['judgeCases', 'judged', 10_000_000],
    ['commitEpoch', 'retried', 10_000_000],
  ] as const)('of %s has %s of at most %d', (activity, field, limit) => {
    const isRefused = (value: number): boolean =>
      inputSchemas[activity]
        .safeParse({ [field]: value })
        .error!.issues.some(({ path }) => path[0] === field);
    expect([limit, limit + 1, 1e12, -1, 0.5].map(isRefused)).toEqual([false, true, true, true, true]);
  });

  it('of a night compares agents by as many samples as a file may ask for', () => {
    const night = (samples: number) => ({ nightly: { evaluation: { samples } } });
    expect(() => checkInput('compareAgents', [{ night: night(1e9) }])).toThrow(/samples: .*<=1024/);
    expect(() => checkInput('compareAgents', [{ night: night(0) }])).toThrow(/samples: .*>0/);
    for (const samples of [1, 1024])
      expect(() => checkInput('compareAgents', [{ night: night(samples) }])).not.toThrow(/samples:/);
  });
});

describe('an activity that writes the files of a run', () => {
  const commit = { run: { id: 'r' }, epoch: 3 };

  it.each([
    ['commitEpoch', commit, 'r'],
    ['commitEpoch', commit, 'r/epoch-0003'],
    ['openEpoch', { id: 'r' }, 'r'],
    ['rollOut', { run: { id: 'r' } }, 'anything'],
  ])('%s %j is for the workflow %s', (activity, input, workflow) => {
    expect(() => checkOwner(activity, input, workflow)).not.toThrow();
  });

  it.each([
    ['commitEpoch', commit, 'r/epoch-0004'],
    ['commitEpoch', commit, 'r/epoch-evil'],
    ['commitEpoch', commit, 'r/epoch-0003/x'],
    ['commitEpoch', commit, undefined],
    ['openEpoch', { id: 'r' }, 'r/epoch-0003'],
    ['parseExperiment', { id: 'r' }, 'r/epoch-0003'],
    ['retuneExperiment', { id: 'r' }, 'r/epoch-evil'],
    ['recordEnd', { id: 'r' }, 's'],
  ])('%s %j is not for the workflow %s', (activity, input, workflow) => {
    expect(() => checkOwner(activity, input, workflow)).toThrow('only the workflow of the run');
  });
});
