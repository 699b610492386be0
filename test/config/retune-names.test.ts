import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setFields } from '../../src/config/retune.ts';
import { NightlyFolder } from '../../src/runs/result-folders.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { experimentInEffect } from '../../src/runs/settings-in-effect.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const names = [
  '__proto__.polluted',
  'constructor.prototype.polluted',
  '__proto__',
  'toString',
  'a.constructor',
];

test.each(names)('no field %s is set, and no object of the process changes', (name) => {
  const settings = { a: { b: 1 } };
  expect(() => setFields(settings, { [name]: 'x' })).toThrow(/there is no field/);
  expect(() => setFields(JSON.parse('{"__proto__": {"polluted": 1}}') as object, { [name]: 'x' })).toThrow(
    /there is no field/,
  );
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
  expect(typeof Object.prototype.toString).toBe('function');
});

test('a field that is left out is set only if fields may be added, and never one of prototypes', () => {
  const set = (values: object, mayAdd: boolean) => setFields({ a: { b: 1 } }, { ...values }, { mayAdd });
  expect(set({ 'a.c.d': 2, e: 3 }, true)).toEqual({ a: { b: 1, c: { d: 2 } }, e: 3 });
  expect(() => set({ 'a.c': 2 }, false)).toThrow('a.c: there is no field "c"');
  expect(() => set({ 'a.b.c': 2 }, true)).toThrow('a.b.c: cannot be set, since a.b is 1');
  for (const name of ['__proto__', '__proto__.polluted', 'a.constructor.prototype.polluted'])
    expect(() => set(JSON.parse(`{"${name}": 1}`) as object, true)).toThrow('there is no field');
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

const retune = (set: object) => [{ fromEpoch: 1, set, time: '2026-11-23T00:00:00Z' }];

test.each([
  ['retunes.json', '[{"fromEpoch": 1, "set": {"__proto__.propertyIsEnumerable": "x"}, "time": "t"}]'],
  ['retunes.json', JSON.stringify(retune({ 'world.tools': 3 }))],
  ['retunes.json', JSON.stringify(retune({ 'constructor.prototype.x': 3 }))],
  ['retunes.json', '{"fromEpoch": 1}'],
  ['retunes.json', '[{"fromEpoch": "1", "set": {}, "time": "t"}]'],
])('%s that holds %s is refused, with nothing changed', async (name, text) => {
  const root = await temporaryFolder();
  const folder = new RunFolder(root, 'some-run');
  await folder.writeExperiment(exampleExperiment());
  await writeFile(join(folder.path, name), text);
  await expect(experimentInEffect(folder, exampleExperiment(), 5)).rejects.toBeInstanceOf(InvalidArtifact);
  expect(typeof Object.prototype.propertyIsEnumerable).toBe('function');
});

test('a fork of no run, or from no epoch, is refused', async () => {
  const folder = new RunFolder(await temporaryFolder(), 'some-run');
  await folder.writeExperiment(exampleExperiment());
  for (const fork of [
    { run: '../up', epoch: 1, line: {} },
    { run: 'a', epoch: -1, line: {} },
    { run: 'a', epoch: 1 },
  ]) {
    await writeFile(folder.forkFile, JSON.stringify(fork));
    await expect(folder.readFork()).rejects.toBeInstanceOf(InvalidArtifact);
  }
});

test('lines that are no events or metrics are skipped; a night that is none is refused', async () => {
  const root = await temporaryFolder();
  const folder = new RunFolder(root, 'some-run');
  await folder.writeExperiment(exampleExperiment());
  await folder.appendEvent({ type: 'started' });
  await folder.appendEvent({ type: 'note', epoch: '<img>' } as never);
  await folder.appendEvent({ type: 7 } as never);
  expect((await folder.events()).map(({ type }) => type)).toEqual(['started']);
  await folder.appendMetrics({ epoch: 1, metrics: { reward: 'much' } } as never);
  expect(await folder.metrics()).toEqual([]);

  const nightly = new NightlyFolder(root, 'nights');
  const night = {
    night: 1,
    outcome: 'kept',
    reason: 'r',
    standing: null,
    candidate: null,
    test: null,
    time: 't',
  } as const;
  await nightly.note(night);
  expect(await nightly.nights()).toEqual([night]);
  await nightly.note({ ...night, standing: { run: '../../up', epoch: 1 } });
  await expect(nightly.next()).rejects.toThrow(/standing\.run: expected the id of a run/);
});
