import { expect, test } from 'vitest';
import { rateScore } from '../../src/benchmarks/suite.ts';
import type { Score } from '../../src/benchmarks/suite.ts';
import { scoreTable } from '../../src/cli/lib/scores.ts';
import type { EvaluationResults } from '../../src/types/evaluation-types.ts';
import { genenv } from './genenv-process.ts';

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
  const table = lines.filter((line) => !line.startsWith('['));
  expect(Math.max(...table.map(({ length }) => length))).toBeLessThan(100);
  expect(lines.filter((line) => line.startsWith('['))).toEqual([`[1] ${note}`]);
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
