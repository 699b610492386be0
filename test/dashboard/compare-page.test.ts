import { expect, test } from 'vitest';
import { comparePage } from '../../src/dashboard/compare-page.ts';
import type { ComparedRun } from '../../src/dashboard/compared-run.ts';

const run = (id: string, value: string): ComparedRun => ({
  id,
  arm: 'genenv',
  state: 'finished',
  settings: new Map([['world.prompt', value]]),
  epochs: [],
});

test('settings differ by their whole values, of which the page shows the beginning', () => {
  const beginning = 'x'.repeat(200);
  const runs = [run('a', `${beginning} a`), run('b', `${beginning} b`)];
  expect(comparePage(runs, { axis: 'epochs', by: 'run' }).differences).toEqual([
    { field: 'world.prompt', values: [`${beginning}…`, `${beginning}…`] },
  ]);
});
