import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rateScore } from '../../src/benchmarks/suite.ts';
import type { Score } from '../../src/benchmarks/suite.ts';
import { pairedTable, scoreTable } from '../../src/cli/lib/scores.ts';
import { TEXT_COLUMNS, wrapText } from '../../src/cli/lib/text.ts';
import type { EvaluationResults } from '../../src/types/evaluation-types.ts';
import { genenv, startGenenv } from './genenv-process.ts';

const evaluated = (scores: Score[]) =>
  ({
    suites: [{ name: 'sums', skipped: null, scores, cutOff: 0, tooLong: 0, questions: 4 }],
    aggregates: [],
  }) as unknown as EvaluationResults;

test('notes stand below the table, each once, and a rate of no cases is a dash', () => {
  const note = 'as the official decoder has it: '.repeat(10).trim();
  const lines = scoreTable(
    evaluated([rateScore('a', 1, 4, note), rateScore('b', 0, 0, note), rateScore('c', 4, 4)]),
  ).split('\n');
  const table = lines.filter((line) => !/^(\[| {4})/.test(line));
  expect(Math.max(...table.map(({ length }) => length))).toBeLessThan(100);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(TEXT_COLUMNS);
  const below = lines.filter((line) => !table.includes(line));
  expect(below.map((line) => line.trim()).join(' ')).toBe(`[1] ${note}`);
  const row = (name: string) =>
    table
      .find((line) => line.startsWith(`${name} `))!
      .trim()
      .split(/\s{2,}/);
  expect(row('a')).toEqual(['a', '25.00', '4.56 to 69.94', '4', '[1]']);
  expect(row('b')).toEqual(['b', '–', '0', '[1]']);
  expect(row('c')).toEqual(['c', '100.00', '51.01 to 100.00', '4']);
});

test('an unknown suite is refused before anything starts', async () => {
  const { code, err } = await genenv(['evaluate', '--policy', 'gold', '--suite', 'bamboogle_closedbok'], {});
  expect(code).toBe(2);
  expect(err).toContain('suites: got "bamboogle_closedbok"; did you mean "bamboogle_closedbook"?');
});

test('two evaluations of the longest names stand in a table of 110 columns', () => {
  const suite = {
    suite: 'bfcl_v4_multi_turn_long_context_by_turn',
    cases: 200,
    counts: { both: 100, onlyFirst: 50, onlySecond: 40, neither: 10 },
    difference: { mean: -0.05, low: -0.1234, high: -0.0123 },
    p: 0.000123456,
  };
  const text = pairedTable({ first: 'a'.repeat(68), second: 'b'.repeat(68), suites: [suite], cases: [] });
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(TEXT_COLUMNS);
  expect(text).toMatch(/_by_turn +200 +100 +50 +40 +10 +-5\.00 +-12\.34 to -1\.23 +0\.000123/);
  expect(text).toContain(`first: ${'a'.repeat(68)}\nsecond: ${'b'.repeat(68)}`);
});

test('a text is broken between words, and a word that is longer than a line stays whole', () => {
  const words = Array.from({ length: 60 }, (_, index) => 'w'.repeat(1 + (index % 9)));
  const lines = wrapText(words.join(' '), 3).split('\n');
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(TEXT_COLUMNS);
  for (const line of lines.slice(1)) expect(line).toMatch(/^ {3}w/);
  expect(lines.map((line) => line.trim()).join(' ')).toBe(words.join(' '));
  expect(wrapText(`a ${'b'.repeat(200)}`, 2)).toBe(`a\n  ${'b'.repeat(200)}`);
});

test('suites are listed as they open, in 110 columns', { timeout: 120_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), 'genenv-suites-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { child, ended } = startGenenv(['suites'], {
    GENENV_HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
  });
  let parts = 0;
  child.stdout!.on('data', () => (parts += 1));
  const { out, code } = await ended;
  expect(code).toBe(0);
  expect(out).toMatch(/^bamboogle_closedbook +125 {2}/m);
  expect(out).toMatch(/^Not here: bfcl_v4_simple_python, /m);
  // Addresses and paths have no spaces to break at.
  const wide = out.split('\n').filter((line) => line.length > TEXT_COLUMNS && line.trim().includes(' '));
  expect(wide).toEqual([]);
  // Not all at the end: the head comes before the first suite is opened.
  expect(parts).toBeGreaterThan(1);
});
