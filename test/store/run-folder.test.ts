import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { temporaryFolder } from './temporary-folder.ts';

test.each(['a', 'night-1', '2026-07-01_lr.1e-4', 'x'.repeat(80)])('%s is an id', async (id) => {
  const root = await temporaryFolder();
  expect(new RunFolder(root, id).path).toBe(join(root, id));
});

test.each(['', '.', '..', '.hidden', '-x', '_x', 'a/b', '../a', 'a b', 'ä', 'a\n', 'x'.repeat(81)])(
  '%j is no id',
  async (id) => {
    const root = await temporaryFolder();
    expect(() => new RunFolder(root, id)).toThrow(InvalidConfig);
  },
);

test('the experiment is written to be read, and hashed by what it says', async () => {
  const run = new RunFolder(await temporaryFolder(), 'a');
  expect(await run.readExperiment()).toBeUndefined();
  const anchor = await run.writeExperiment({ seed: 1, arm: { kind: 'genenv' } });
  expect(anchor).toBe(hashOf({ arm: { kind: 'genenv' }, seed: 1 }));
  expect(await readFile(run.experimentFile, 'utf8')).toContain('\n  "seed": 1');
  expect(await run.readExperiment()).toEqual({
    experiment: { seed: 1, arm: { kind: 'genenv' } },
    sha256: anchor,
  });
  await writeFile(run.experimentFile, '{"arm":{"kind":"genenv"},"seed":1}');
  expect((await run.readExperiment())?.sha256).toBe(anchor);
  await writeFile(run.experimentFile, '{');
  await expect(run.readExperiment()).rejects.toThrow(InvalidArtifact);
});

test('events are kept in order with their time, around a torn one', async () => {
  const run = new RunFolder(await temporaryFolder(), 'a');
  await run.writeExperiment({});
  await Promise.all([
    run.appendEvent({ type: 'started', time: '2026-01-01T00:00:00Z' }),
    run.appendEvent({ type: 'retried', phase: 'train' }),
  ]);
  await appendFile(run.eventsFile, '{"type":"tor');
  await run.appendEvent({ type: 'resumed' });
  expect((await run.events()).map(({ type }) => type)).toEqual(['started', 'retried', 'resumed']);
  expect((await run.events()).every(({ time }) => !Number.isNaN(Date.parse(time ?? '')))).toBe(true);
});

test('an epoch has one line of metrics', async () => {
  const run = new RunFolder(await temporaryFolder(), 'a');
  await run.writeExperiment({});
  await Promise.all([
    run.appendMetrics({ epoch: 1, loss: 1 }),
    run.appendMetrics({ epoch: 1, loss: 2 }),
    run.appendMetrics({ epoch: 2, loss: 3 }),
  ]);
  await appendFile(run.metricsFile, '{"epoch":3,"lo');
  await run.appendMetrics({ epoch: 3, loss: 4 });
  expect(await run.metrics()).toEqual([
    { epoch: 1, loss: 1 },
    { epoch: 2, loss: 3 },
    { epoch: 3, loss: 4 },
  ]);
});

test('runs are listed by id; other folders are not runs', async () => {
  const root = await temporaryFolder();
  for (const id of ['b', 'a']) await new RunFolder(root, id).writeExperiment({});
  await mkdir(join(root, 'empty'));
  expect((await RunFolder.list(root)).map(({ id }) => id)).toEqual(['a', 'b']);
  expect(await RunFolder.list(join(root, 'nowhere'))).toEqual([]);
});
