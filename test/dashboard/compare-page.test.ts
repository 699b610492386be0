import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { comparePage } from '../../src/dashboard/compare-page.ts';
import type { ComparedRun } from '../../src/dashboard/compared-run.ts';
import { RunPages } from '../../src/dashboard/run-pages.ts';
import { roundTo } from '../../src/numerics/arithmetic.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import type { Fork } from '../../src/runs/run-folder.ts';
import { worldLoader } from '../../src/worlds/registry.ts';
import { makeRun } from '../report/make-run.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { FixedSource } from './some-dashboard.ts';

const run = (id: string, value: string): ComparedRun => ({
  id,
  arm: 'genenv',
  state: 'finished',
  settings: new Map([['world.prompt', value]]),
  forkedFrom: [],
  epochs: [],
});

test('settings differ by their whole values, of which the page shows the beginning', () => {
  const beginning = 'x'.repeat(200);
  const runs = [run('a', `${beginning} a`), run('b', `${beginning} b`)];
  expect(comparePage(runs, { axis: 'epochs', by: 'run' }).differences).toEqual([
    { field: 'world.prompt', values: [`${beginning}…`, `${beginning}…`] },
  ]);
});

/** A fork whose epochs are those of its parent after that one. */
async function forkOf(parent: RunFolder, epoch: number, id: string): Promise<RunFolder> {
  const fork = new RunFolder(join(parent.path, '..'), id);
  await fork.writeExperiment((await parent.readExperiment())!.experiment as object);
  const linesOf = async (file: string) =>
    (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((text) => ({ text, line: JSON.parse(text) as Fork['line'] }));
  const ledger = await linesOf(parent.ledgerFile);
  await fork.writeFork({
    run: parent.id,
    epoch,
    line: ledger.find(({ line }) => line.epoch === epoch)!.line,
  });
  for (const [file, lines] of [
    [fork.ledgerFile, ledger],
    [fork.metricsFile, await linesOf(parent.metricsFile)],
  ] as const) {
    const later = lines.filter(({ line }) => line.epoch > epoch);
    await writeFile(file, later.map(({ text }) => `${text}\n`).join(''));
  }
  return fork;
}

test('a fork continues the curves of its ancestors on every axis, as long as they are there', async () => {
  const home = await memoryFolder();
  const { run: parent } = await makeRun({ home, runId: 'parent', epochs: 6, planned: 12 });
  const child = await forkOf(parent, 2, 'child');
  const grandchild = await forkOf(child, 4, 'grandchild');
  const pages = new RunPages(home, worldLoader(undefined), new FixedSource());
  const usedBy = async (folder: RunFolder) =>
    (await pages.compared(folder)).epochs.map(({ used: { seconds, ...used } }) => ({
      ...used,
      seconds: seconds === null ? null : roundTo(seconds, 6),
    }));
  const used = await usedBy(parent);
  expect(used[1]).toMatchObject({ epochs: 1, tokens: 4200 });
  expect(await usedBy(child)).toEqual(used.slice(3));
  expect(await usedBy(grandchild)).toEqual(used.slice(5));
  await rm(parent.path, { recursive: true });
  const unknown = { rollouts: null, seconds: null };
  expect(await usedBy(grandchild)).toEqual(used.slice(5).map((after) => ({ ...after, ...unknown })));
});
