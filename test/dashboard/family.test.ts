import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { familyOf } from '../../src/dashboard/family.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { makeRun } from '../report/make-run.ts';
import type { MadeRun } from '../report/make-run.ts';

let home = '';
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'genenv-family-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const lineOf = async ({ run }: MadeRun, epoch: number) => (await (await run.open())!.ledger.read())[epoch]!;

test('a run is shown with what it descends from, all forks of that, and what changed their course', async () => {
  const made = async (runId: string) => makeRun({ home, runId, epochs: 3, planned: 9 });
  const [root, first, second, stranger] = [
    await made('root'),
    await made('first'),
    await made('second'),
    await made('stranger'),
  ];
  await first.run.writeFork({ run: 'root', epoch: 2, line: await lineOf(root, 2) });
  await second.run.writeFork({ run: 'first', epoch: 1, line: await lineOf(root, 1) });
  await first.run.appendEvent({ type: 'rewound', epoch: 1 });
  const folders = await RunFolder.list(join(home, 'runs'));
  const family = await familyOf(second.run, folders);
  expect(family).toMatchObject({
    run: 'root',
    fromEpoch: null,
    epoch: 3,
    forks: [{ run: 'first', fromEpoch: 2, forks: [{ run: 'second', fromEpoch: 1, forks: [] }] }],
  });
  expect(family.forks[0]!.turns.map(({ type }) => type)).toEqual(['started', 'rewound']);
  expect(await familyOf(stranger.run, folders)).toMatchObject({ run: 'stranger', forks: [] });
});

test('runs that name each other as parents end the tree', async () => {
  const [left, right] = [
    await makeRun({ home, runId: 'loop-1', epochs: 1, planned: 2 }),
    await makeRun({ home, runId: 'loop-2', epochs: 1, planned: 2 }),
  ];
  await left.run.writeFork({ run: 'loop-2', epoch: 1, line: await lineOf(right, 1) });
  await right.run.writeFork({ run: 'loop-1', epoch: 1, line: await lineOf(right, 1) });
  const family = await familyOf(left.run, await RunFolder.list(join(home, 'runs')));
  expect([family.run, family.forks.map(({ run }) => run)].flat().sort()).toEqual(['loop-1', 'loop-2']);
});
