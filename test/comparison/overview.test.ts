import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  axesTable,
  claimTable,
  docs,
  horizonTable,
  leadTable,
  lengthTable,
  primaryTable,
  stepsTable,
} from './overview-tables.ts';

/**
 * The tables of docs/results.md are made of the summaries and runs beside it, so that no figure in them was written
 * by hand. `npx vitest run test/comparison/overview.test.ts -u` writes them anew.
 */

const tables = {
  'primary comparisons': primaryTable,
  horizon: horizonTable,
  leads: leadTable,
  axes: axesTable,
  lengths: lengthTable,
  claims: claimTable,
  steps: stepsTable,
};

const between = (name: string) => new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);

test('every table of the results is what the summaries say', async () => {
  const text = readFileSync(join(docs, 'results.md'), 'utf8');
  let expected = text;
  for (const [name, make] of Object.entries(tables)) {
    expect(text, `docs/results.md: the markers of "${name}"`).toMatch(between(name));
    expected = expected.replace(
      between(name),
      (_, begin: string, end: string) => `${begin}\n${make()}\n\n${end}`,
    );
  }
  await expect(expected).toMatchFileSnapshot('../../docs/results.md');
});
