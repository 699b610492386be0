import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { figureScore, rateScore } from '../../src/benchmarks/suite.ts';
import { evaluationView } from '../../src/evaluation/evaluation-view.ts';
import { pairedView } from '../../src/evaluation/paired-view.ts';
import type { Evaluated } from '../../src/evaluation/paired.ts';
import { evaluationPage, pairedPage } from '../../src/report/evaluation-page.ts';
import type { CaseLine } from '../../src/types/evaluation-types.ts';
import { chromiumMissing, complaintsOf, launchChromium } from '../../test-support/chromium.ts';
import { fileOf, someCases, someResults, someSuite } from './some-evaluation-view.ts';

const hostile = `"'></script></pre><img src=x onerror="document.body.dataset.fired=1"><script>document.body.dataset.fired=1</script>`;

describe.skipIf(chromiumMissing !== '')(`the page of an evaluation in Chromium${chromiumMissing}`, () => {
  let folder = '';
  let browser: Browser;
  let page: Page;
  let [complaints, requests]: [string[], string[]] = [[], []];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genenv-evaluation-page-'));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    requests = [];
    page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
    complaints = complaintsOf(page);
    page.on('request', (request) => requests.push(request.url()));
  });
  afterEach(async () => {
    expect(await page.evaluate('document.body.dataset.fired ?? null')).toBeNull();
    await page.close();
    expect(complaints).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  async function show(html: string): Promise<void> {
    const file = join(folder, 'report.html');
    await writeFile(file, html);
    await page.goto(pathToFileURL(file).href);
  }
  const showEvaluation = async (results: object, cases: readonly CaseLine[]): Promise<void> =>
    show(await evaluationPage(evaluationView(results, fileOf(cases))));
  const expectIds = (ids: readonly string[]): Promise<void> =>
    expect.poll(() => page.locator('#case-list .id').allTextContents()).toEqual(ids);
  const expectCount = (text: string): Promise<void> =>
    expect.poll(() => page.locator('#case-count').textContent()).toBe(text);
  const rowsOf = async (section: string): Promise<string[][]> => {
    await page.locator(`#${section}`).waitFor();
    const rows = await page.locator(`#${section} tbody tr`).all();
    return Promise.all(rows.map((row) => row.locator('th, td').allTextContents()));
  };

  test('has every figure with its interval, suites with their reasons, and the paper’s rows', async () => {
    const sums = someCases('sums', 9);
    const results = someResults(
      'mine',
      [
        someSuite('sums', sums),
        someSuite('empty', [], [rateScore('empty_rate', 0, 0)]),
        { name: 'absent', skipped: 'its data are not here' },
        someSuite('bamboogle_search', someCases('bamboogle_search', 2), [
          rateScore('bamboogle_genenv_judge_search_prompt', 19, 25),
        ]),
      ],
      [figureScore({ name: 'all_suites', value: 0.5, total: 3, note: 'one was not run' })],
    );
    await showEvaluation(results, sums);
    expect(await rowsOf('scores')).toEqual([
      ['all_suites', '50.00', '', '', '3', 'one was not run'],
      ['sums_exact', '66.67', '35.42 to 87.94', '', '9', ''],
      ['empty_rate', '–', '', '', '0', ''],
      ['bamboogle_genenv_judge_search_prompt', '76.00', expect.stringMatching(/^56\.\d\d to/), '', '25', ''],
    ]);
    expect(await page.locator('#scores .interval .range').count()).toBe(2);
    expect((await rowsOf('categories'))[0]).toEqual([
      ...['sums', '6 of 9', '66.67', '35.42 to 87.94', 'wrong_sum (2), no_number (1)'],
      ...['0', '0', '0', '63'],
    ]);
    expect((await rowsOf('categories'))[1]!.slice(0, 4)).toEqual(['empty', '–', '–', '']);
    expect(await page.locator('#categories li').allTextContents()).toEqual(['absent: its data are not here']);
    const paper = await rowsOf('paper');
    expect(paper.at(-2)).toEqual(['GenEnv', '54.5', '41.8', '79.1', '76.0', '16.6', '53.6']);
    expect(paper.at(-1)).toEqual(['mine', '–', '–', '–', '76.0', '–', '–']);
  });

  test('filters cases by suite, verdict, reason and text, and shows fifty at a time', async () => {
    const cases = [...someCases('sums', 120), ...someCases('products', 6, { converted: true })];
    await showEvaluation(someResults('mine', [someSuite('sums', cases)]), cases);
    await expectCount('cases 1 to 50 of 126');
    expect(await page.locator('#case-list .id').count()).toBe(50);
    await page.click('text=Cases after');
    await page.click('text=Cases after');
    await expectCount('cases 101 to 126 of 126');
    expect(await page.locator('text=Cases after').first().isDisabled()).toBe(true);
    await page.selectOption('[name=suite]', 'products');
    await expectIds(cases.slice(120).map(({ id }) => id));
    await page.selectOption('[name=outcome]', 'wrong');
    await expectIds(['products-0', 'products-3']);
    await page.selectOption('[name=reason]', 'no_number');
    await expectIds(['products-3']);
    await expectCount('cases 1 to 1 of 1 that match, of 126');
    await page.click('button[type=reset]');
    await expectCount('cases 1 to 50 of 126');
    await page.fill('[name=text]', 'WHAT IS 77 +');
    await expectIds(['sums-77']);
    await page.fill('[name=text]', 'no such text');
    await expectCount('no cases of 0 that match, of 126');
  });

  test('opens a case with question, answer, key, verdict and reason', async () => {
    const cases = someCases('sums', 3);
    await showEvaluation(someResults('mine', [someSuite('sums', cases)]), cases);
    await page.locator('.sample summary').first().click();
    const opened = page.locator('.sample').first();
    await opened.locator('.opened').waitFor();
    expect(await opened.locator('pre').allTextContents()).toEqual(['user: What is 0 + 0?', '0', '0']);
    expect(await opened.locator('.opened .chip').allTextContents()).toEqual(['wrong']);
    expect(await opened.locator('.opened').textContent()).toContain('wrong_sum');
    expect(await opened.locator('small').allTextContents()).toEqual(['exact 0']);
  });

  test('ten thousand cases open at once, and a page turns in an instant', async () => {
    const cases = someCases('sums', 10_000, { answer: 'long '.repeat(300) });
    await showEvaluation(someResults('mine', [someSuite('sums', cases)]), cases);
    await expectCount('cases 1 to 50 of 10000');
    expect(await page.locator('#case-list > *').count()).toBe(50);
    expect(await page.locator('#cut').count()).toBe(0);
    const start = performance.now();
    await page.fill('[name=text]', 'what is 9999 +');
    await expectIds(['sums-9999']);
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('texts of models, files and servers stay text', async () => {
    const cases = someCases(hostile, 4, { id: hostile, question: hostile, answer: hostile, gold: hostile });
    cases[0]!.reason = hostile;
    cases[0]!.scores = { [hostile]: 1 };
    const scores = [{ ...rateScore(hostile, 1, 2), note: hostile }];
    const suites = [someSuite(hostile, cases, scores), { name: 'absent', skipped: hostile }];
    const policy = { type: 'served', baseUrl: hostile, model: hostile, api: hostile };
    await showEvaluation({ ...someResults(hostile, suites, scores), policy }, cases);
    for (const item of await page.locator('.sample summary').all()) await item.click();
    expect(await page.locator('pre').first().textContent()).toBe(hostile);
    expect(await page.locator('img, main script').count()).toBe(0);
  });

  test('texts of two evaluations stay text', async () => {
    const cases = someCases(hostile, 4, { id: hostile, answer: hostile, reason: hostile });
    const paired = { results: { id: hostile, suites: [someSuite(hostile, cases)] }, cases } as unknown;
    const view = pairedView(paired as Evaluated, paired as Evaluated);
    await show(await pairedPage(view));
    for (const item of await page.locator('.sample summary').all()) await item.click();
    expect(await page.locator('#case-list pre').nth(1).textContent()).toBe(hostile);
    expect(await page.locator('img, main script').count()).toBe(0);
  });

  test.each([400, 390])('fits a window of %i pixels', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    const name = 'bfcl_v4_multi_turn_long_context_turn_success_gold_history_prompt';
    const cases = someCases(name, 60, { id: 'x'.repeat(120), answer: 'y'.repeat(2_000) });
    await showEvaluation(someResults('m'.repeat(68), [someSuite(name, cases)]), cases);
    await page.locator('.sample summary').first().click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  });

  test('two evaluations are shown case by case', async () => {
    const evaluated = (id: string, cases: CaseLine[]): Evaluated =>
      ({ results: { id, suites: [someSuite('sums', cases)] }, cases }) as unknown as Evaluated;
    const first = someCases('sums', 6);
    const second = someCases('sums', 6).map((line) => ({
      ...line,
      correct: line.id !== 'sums-1',
      reason: null,
    }));
    await show(await pairedPage(pairedView(evaluated('old', first), evaluated('new', second))));
    expect((await rowsOf('suites'))[0]!.slice(0, 7)).toEqual(['sums', '6', '3', '1', '2', '0', '−16.67']);
    await page.selectOption('[name=outcome]', 'only new right');
    await expectIds(['sums-0', 'sums-3']);
    await page.locator('.sample summary').first().click();
    await page.locator('.sample .opened').first().waitFor();
    expect(await page.locator('.sample').first().locator('h3').allTextContents()).toEqual([
      'Question',
      'oldexact 0',
      'newexact 0',
      'The answer key has',
    ]);
  });
});
