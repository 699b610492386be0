import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { classes } from './classes/index.ts';
import { plan } from './drive.ts';
import type { Outcome } from './drive.ts';
import { withTable } from './figures.ts';
import { summarise, withEarlier } from './table.ts';
import type { Results } from './table.ts';

const outcome = (index: number, name: string, rest: Partial<Outcome> = {}): Outcome => ({
  index,
  name,
  row: 'a row',
  recovered: true,
  problems: [],
  seconds: index,
  redone: { requests: 1, steps: 0, activities: 0 },
  duplicates: 0,
  ...rest,
});

test('a class has its medians, sums and failures; skipped runs count as neither', () => {
  const outcomes = [1, 2, 3, 10].map((index) => outcome(index, 'a'));
  outcomes.push(
    outcome(5, 'a', { recovered: false, seconds: null, duplicates: 2 }),
    outcome(6, 'b', { recovered: false, seconds: null, skipped: 'no mount' }),
  );
  const results = summarise(outcomes, 7);
  expect(results).toMatchObject({ seed: 7, runs: 5, recovered: 4, duplicates: 2 });
  expect(results.classes).toEqual([
    {
      row: 'a row',
      class: 'a',
      injected: 5,
      recovered: 4,
      skipped: null,
      seconds: { median: 2, p95: 10 },
      redone: { requests: 5, steps: 0, activities: 0 },
      duplicates: 2,
    },
    {
      row: 'a row',
      class: 'b',
      injected: 0,
      recovered: 0,
      skipped: 'no mount',
      seconds: null,
      redone: { requests: 0, steps: 0, activities: 0 },
      duplicates: 0,
    },
  ]);
});

test('results are added to earlier ones: their own classes are replaced, and all is summed again', () => {
  const earlier = summarise([outcome(1, 'a', { recovered: false, duplicates: 3 }), outcome(2, 'b')], 7);
  const added = withEarlier(summarise([outcome(3, 'a'), outcome(4, 'c'), outcome(5, 'c')], 8), earlier);
  expect(added.classes.map((row) => [row.class, row.injected])).toEqual([
    ['a', 1],
    ['b', 1],
    ['c', 2],
  ]);
  expect(added).toMatchObject({ seed: 7, runs: 4, recovered: 4, duplicates: 0 });
});

test('a run of the plan is the same when it is asked for alone', () => {
  const names = (first: number, count: number): string[] =>
    plan(classes, 5, first, count).map(({ fault }) => fault.name);
  expect(names(classes.length + 3, 1)).toEqual([names(0, 2 * classes.length)[classes.length + 3]]);
  expect(new Set(names(0, classes.length)).size).toBe(classes.length);
  expect(names(0, classes.length)).not.toEqual(names(classes.length, classes.length));
});

test('the document has the table of the last results', () => {
  const document = readFileSync(join(repository, 'docs', 'durability.md'), 'utf8');
  const results = JSON.parse(readFileSync(join(repository, 'bench', 'chaos.json'), 'utf8')) as Results;
  expect(withTable(document, results)).toBe(document);
  expect(() => withTable('# Durability', results)).toThrow('the markers');
});
