import { describe, expect, test } from 'vitest';
import { rateScore } from '../../src/benchmarks/suite.ts';
import { readCases } from '../../src/evaluation/cases-file.ts';
import { evaluationView } from '../../src/evaluation/evaluation-view.ts';
import type { ShownCase } from '../../src/evaluation/shown-case.ts';
import { fitCases } from '../../src/report/fit-cases.ts';
import { fileOf, someCases, someResults, someSuite } from '../report/some-evaluation-view.ts';

const paperNames = [
  'alfworld_valid_unseen_genenv_by_step',
  'bfcl_v4_multi_turn_long_context_turn_success_gold_history_prompt',
  'api_bank_genenv_toolrl_exact_prompt',
  'bamboogle_genenv_judge_search_prompt',
  'travelplanner_validation_genenv_mean4_soleplanning',
];

describe('what is shown of an evaluation', () => {
  test('can be sent as JSON', () => {
    const cases = someCases('sums', 4);
    const view = evaluationView(someResults('mine', [someSuite('sums', cases)]), fileOf(cases));
    expect(JSON.parse(JSON.stringify(view))).toEqual(view);
    expect(view.cases).toEqual(cases);
    expect(view.suites[0]).toMatchObject({ correct: { value: 0.5, total: 4 }, tokens: 28 });
  });

  test('has the mean of the five if all five are there, of all their cases', () => {
    const suites = paperNames.map((name) => someSuite(name, [], [rateScore(name, 3, 5)]));
    const own = (evaluated: readonly object[]) =>
      evaluationView(someResults('mine', evaluated), '').paper.rows.at(-1);
    expect(own(suites)).toEqual({ model: 'mine', group: 'own', percents: Array(5).fill(60), mean: 60 });
    expect(own(suites.slice(1))).toMatchObject({ percents: [null, 60, 60, 60, 60], mean: null });
    // eslint-disable-next-line id-denylist -- a field of results.json
    expect(own([{ ...suites[0], whole: false }, ...suites.slice(1)])).toMatchObject({ mean: null });
  });

  test('reasons are counted, the most frequent first, and conversions', () => {
    const cases = someCases('sums', 20);
    cases[1]!.converted = true;
    const { reasons, converted } = evaluationView(
      someResults('mine', [someSuite('sums', cases)]),
      fileOf(cases),
    ).suites[0]!;
    expect(reasons).toEqual([
      { reason: 'wrong_sum', cases: 4 },
      { reason: 'no_number', cases: 3 },
    ]);
    expect(converted).toBe(1);
  });

  test.each([
    ['suites[0].correct', { suites: [{ ...someSuite('sums', []), correct: -1 }] }],
    ['policy', { policy: { type: 'nobody' } }],
    ['judged', { judged: '<script>' }],
  ])('a file with a wrong %s is refused by the name of the field', (field, change) => {
    const results = { ...someResults('mine', []), ...change };
    expect(() => evaluationView(results, '')).toThrow(`results.json: ${field.split('[')[0]}`);
  });

  test('lines that are no cases are left out, and named', () => {
    const [line] = someCases('sums', 1);
    const file = ['{', JSON.stringify(line), '[]', JSON.stringify({ ...line, correct: 'yes' }), ''].join(
      '\n',
    );
    expect(readCases(file)).toEqual({ cases: [line], unreadable: [1, 3, 4] });
    expect(readCases(JSON.stringify({ ...line, answer: 'x'.repeat(30_000) })).unreadable).toEqual([1]);
  });
});

describe('cases that are too large for a page', () => {
  const shown = (count: number, characters: number): ShownCase[] =>
    Array.from({ length: count }, (_, index) => ({
      ...{ suite: 's', id: `case-${index}`, outcome: 'right', tone: 'good', question: 'q', gold: 'g' },
      answers: [
        { title: 'a', correct: true, reason: '', converted: false, scores: [], text: 'x'.repeat(characters) },
      ],
    }));
  const sizeOf = (cases: readonly ShownCase[]): number => Buffer.byteLength(JSON.stringify(cases));

  test('stay whole if they fit', () => {
    const cases = shown(10, 500);
    expect(fitCases(cases, 100_000)).toEqual({ cases, cut: null });
  });

  test('have their texts cut first, then some are left out, and the page says so', () => {
    const cut = fitCases(shown(20, 2_000), 30_000);
    expect(cut.cases).toHaveLength(20);
    expect(cut.cases[0]!.answers[0]!.text).toBe(`${'x'.repeat(1_000)}… (1000 more characters)`);
    expect(cut.cut).toContain('Texts are cut to');
    const few = fitCases(shown(1_000, 2_000), 30_000);
    expect(sizeOf(few.cases)).toBeLessThanOrEqual(30_000);
    expect(few.cases.length).toBeGreaterThan(50);
    expect(few.cut).toMatch(/^Only \d+ of 1\u202f000 cases fit in the page/);
  });

  test('are cut at about 20 MB', () => {
    const { cases, cut } = fitCases(shown(10_000, 4_000));
    expect(cut).not.toBeNull();
    expect(sizeOf(cases)).toBeLessThan(20_500_000);
  });
});
