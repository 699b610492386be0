import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SeriesOption } from 'echarts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { armRuns } from '../../src/comparison/plan.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { ComparePage, TaskPage } from '../../src/dashboard/api.ts';
import { ComparisonFolder } from '../../src/runs/result-folders.ts';
import { chromiumMissing, complaintsOf, launchChromium } from '../../test-support/chromium.ts';
import { experimentFile } from '../../test-support/experiments.ts';
import { makeRun } from '../report/make-run.ts';
import { makeEvaluation } from '../evaluation/make-evaluation.ts';
import { someCases } from '../report/some-evaluation-view.ts';
import { growingRun } from './growing-run.ts';
import type { GrowingRun } from './growing-run.ts';
import { serveDashboard } from './some-dashboard.ts';
import type { ServedDashboard } from './some-dashboard.ts';

describe.skipIf(chromiumMissing !== '')(`the dashboard in Chromium${chromiumMissing}`, () => {
  let home = '';
  let browser: Browser;
  let served: ServedDashboard;
  let growing: GrowingRun;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'genenv-pages-'));
    await makeRun({ home, runId: 'finished', epochs: 12 });
    growing = await growingRun(home);
    await makeEvaluation(home, 'sums', someCases('sums', 30, { answer: '<img src=x onerror=alert(1)>' }));
    const folder = new ComparisonFolder(join(home, 'comparisons'), 'tiny');
    await folder.write(parseComparison(experimentFile('compare-tiny')));
    const { runId } = await makeRun({ home, runId: 'tiny.tuned.1', epochs: 3 });
    expect(armRuns('tiny', parseComparison(experimentFile('compare-tiny'))).map(({ id }) => id)).toContain(
      runId,
    );
    served = await serveDashboard(home);
    served.source.views.set('growing', { state: 'running', isActive: true });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await served[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });

  let page: Page;
  let complaints: string[] = [];
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
    complaints = complaintsOf(page);
    await page.goto(served.address);
    await page.waitForSelector('table.runs');
  });
  afterEach(async () => {
    await page.close();
    expect(complaints).toEqual([]);
  });

  const open = async (place: string, selector: string) => {
    await page.goto(`${served.origin}/#/${place}`);
    await page.waitForSelector(selector);
  };
  const places: [place: string, selector: string][] = [
    ['', 'table.runs'],
    ['runs/finished', '#chart-success-rate svg'],
    ['runs/finished/epochs/7', 'table.tasks'],
    ['runs/finished/epochs/7/tasks/3', '.sample'],
    ['compare?runs=finished,growing', '#chart-compare-heldout svg'],
    ['evaluations/sums', '.sample'],
    ['comparisons/tiny', 'progress'],
  ];

  test('shows all runs, and leads from one to an epoch to a task and its attempts', async () => {
    expect(new URL(page.url()).searchParams.has('token')).toBe(false);
    expect(await page.locator('table.runs th a').allTextContents()).toEqual(
      expect.arrayContaining(['finished', 'growing']),
    );
    await page.click('text="finished"');
    await page.click('text="epoch 7"');
    await page.selectOption('[name=kept]', 'left out');
    await page.selectOption('[name=valid]', 'valid');
    await page.waitForFunction(`document.querySelectorAll('table.tasks tbody tr').length < 32`);
    expect(await page.locator('table.tasks .chip.warn').first().textContent()).toMatch(/^left out: too /);
    await page.locator('table.tasks th a').first().click();
    await page.waitForSelector('.rollout');
    expect(await page.locator('.rollout').count()).toBe(8);
    expect(await page.locator('.rollout dt').allTextContents()).toEqual(
      expect.arrayContaining(['read as', 'advantage', 'log-probability', 'policy']),
    );
    await page.goBack();
    await page.waitForSelector('table.tasks');
    expect(await page.locator('[name=kept]').inputValue()).toBe('left out');
  });

  test('grows while one looks', async () => {
    await open('runs/growing', '#chart-success-rate svg');
    const cards = () => page.locator('.card .value').first().textContent();
    const before = Number(await cards());
    const epoch = await growing.commitNext();
    await expect.poll(cards, { timeout: 15_000 }).toBe(String(before + 1));
    expect(await page.locator('#samples th a').first().textContent()).toBe(`epoch ${epoch}`);
    await growing.commitNext();
    await expect.poll(cards, { timeout: 15_000 }).toBe(String(before + 2));
  });

  test('says what is under way, and why a phase is tried again', async () => {
    served.source.views.set('growing', {
      state: 'running',
      isActive: true,
      phases: [
        {
          phase: 'rollOut',
          workflow: 'growing/epoch-0007',
          attempt: 2,
          state: 'running',
          lastFailure: '<img src=x onerror=alert(1)> connection refused',
          startedAt: '2026-11-21T09:00:00.000Z',
          heartbeatAt: '2026-11-21T09:00:03.000Z',
        },
      ],
      temporalUi: 'http://127.0.0.1:8233/namespaces/default/workflows/growing',
    });
    await open('runs/growing', '.now table');
    expect(await page.locator('.now td').allTextContents()).toContain(
      '<img src=x onerror=alert(1)> connection refused',
    );
    // Figures that change each second are not read aloud.
    expect(await page.locator('[aria-live]').allTextContents()).toEqual(['running', '']);
    expect(await page.locator('.now a').first().getAttribute('href')).toContain('/workflows/growing');
    served.source.views.set('growing', { state: 'running', isActive: true });
  });

  test('shades tokens by their log-probability, and shows dialogues step by step', async () => {
    const path = '/api/runs/finished/epochs/7/tasks/3';
    const task = await served.json<TaskPage>(path);
    const tokenTexts = [
      { text: 'sure', logprob: -0.1, isSampled: true },
      { text: '<b>unsure', logprob: -4, isSampled: true },
      { text: 'read', logprob: 0, isSampled: false },
    ];
    const turn = {
      seed: 1,
      action: 'open door',
      wording: null,
      observation: 'It is <i>locked</i>.',
      consistent: true,
    };
    const rollouts = task.rollouts.map((rollout, index) =>
      index === 0 ? { ...rollout, tokenTexts } : { ...rollout, turns: [turn, turn] },
    );
    await page.route(`**${path}`, (route) => route.fulfill({ json: { ...task, rollouts } }));
    await open('runs/finished/epochs/7/tasks/3', '.rollout');
    const tokens = page.locator('.rollout').first().locator('.token');
    expect(await tokens.allTextContents()).toEqual(['sure', '<b>unsure', 'read']);
    const backgrounds = await tokens.evaluateAll((spans) =>
      spans.map((span) =>
        (span as unknown as { attributeStyleMap: Map<string, unknown> }).attributeStyleMap
          .get('--surprise')
          ?.toString(),
      ),
    );
    expect(backgrounds).toEqual(['0.025', '1.0', undefined]);
    expect(await tokens.nth(1).getAttribute('title')).toBe('log-probability −4.000');
    await page.uncheck('.toggle input');
    expect(await tokens.count()).toBe(0);
    expect(await page.locator('.rollout').nth(1).locator('.dialogue li').count()).toBe(2);
    expect(await page.locator('.dialogue .observation').first().innerText()).toBe(
      'World It is <i>locked</i>.',
    );
  });

  test('lists runs of no comparison first, finds the others, and shows how far a comparison is', async () => {
    const count = page.locator('#run-count');
    expect(await page.locator('table.runs th a').allTextContents()).not.toContain('tiny.tuned.1');
    await page.fill('[name=find]', 'TINY');
    await expect.poll(() => count.textContent()).toMatch(/^1 of \d runs$/);
    expect(page.url()).toContain('find=TINY');
    await page.reload();
    await expect.poll(() => count.textContent()).toMatch(/^1 of \d runs$/);
    await page.locator('[aria-label="Comparisons"] a').first().click();
    await page.waitForSelector('[aria-label="Runs by arm"]');
    await page.locator('text=/2 arms under 2 seeds: 1 of 4 runs done/').waitFor();
    await page.locator('[aria-label^="choose"]').first().check();
    expect(await page.locator('text=Show one arm').getAttribute('href')).toContain('by=arm');
    expect(await page.locator('[aria-label="Runs by arm"] td a').allTextContents()).toEqual(['1']);
    // Nobody reloads it: its summary is a file of no run.
    const { summaryFile } = new ComparisonFolder(join(home, 'comparisons'), 'tiny');
    await writeFile(summaryFile, await readFile('docs/results-steps-p02.json'));
    await page.locator('[aria-label="Primary comparisons"]').waitFor();
    await rm(summaryFile);
  });

  test('a page opens at its start, and one that is left is found again where it was', async () => {
    const scrolled = () => page.evaluate<number>('scrollY');
    await open('runs/finished', '#chart-success-rate svg');
    await page.goto(`${served.origin}/#/`);
    await page.waitForSelector('table.runs');
    await page.click('text="finished"');
    await page.locator('text="epoch 7"').scrollIntoViewIfNeeded();
    const place = await scrolled();
    expect(place).toBeGreaterThan(500);
    await page.click('text="epoch 7"');
    await page.waitForSelector('table.tasks');
    expect(await scrolled()).toBe(0);
    await page.goBack();
    await page.waitForSelector('#chart-success-rate svg');
    await expect.poll(scrolled).toBeGreaterThan(place - 300);
  });

  test('says what there is not, and leads back', async () => {
    for (const [place, text] of [
      ['runs/nosuch', 'there is no run "nosuch"'],
      ['runs/finished/epochs/999', 'it has no epoch 999 yet'],
      ['runs/finished/epochs/abc', 'There is no such page.'],
      ['compare', 'Choose two runs or more'],
    ] as const) {
      await page.goto(`${served.origin}/#/${place}`);
      await page.locator(`text=${text}`).waitFor();
      await page.locator('main a[href="#/"]').waitFor();
    }
    // The browser itself reports each answer of 404.
    expect(complaints.splice(0).every((complaint) => complaint.includes('404'))).toBe(true);
  });

  test('compares runs that were chosen', async () => {
    await page.check('[aria-label="compare finished"]');
    await page.check('[aria-label="compare growing"]');
    await page.click('#compare');
    await page.waitForSelector('#chart-compare-heldout svg');
    expect(await page.locator('h2').allTextContents()).toContain('Settings that differ');
    await page.selectOption('[name=axis]', 'tokens');
    await expect.poll(() => page.url()).toContain('axis=tokens');
    await page.selectOption('[name=by]', 'arm');
    await expect.poll(() => page.url()).toContain('by=arm');
  });

  test('shows an evaluation’s answers beside gold, as text', async () => {
    await open('evaluations/sums', '.sample');
    const count = page.locator('#case-count');
    expect(await count.textContent()).toBe('cases 1 to 25 of 30');
    const first = page.locator('.sample').first();
    await first.locator('summary').click();
    await first.locator('.opened').waitFor();
    expect(await first.locator('pre').allTextContents()).toEqual([
      'user: What is 0 + 0?',
      '<img src=x onerror=alert(1)>',
      '0',
    ]);
    await page.click('text=Cases after');
    await expect.poll(() => count.textContent()).toBe('cases 26 to 30 of 30');
    await page.selectOption('[name=outcome]', 'wrong');
    await expect.poll(() => count.textContent()).toBe('cases 1 to 10 of 10 that match, of 30');
    await page.selectOption('[name=reason]', 'no_number');
    await expect.poll(() => count.textContent()).toBe('cases 1 to 5 of 5 that match, of 30');
  });

  test('can be used by the keyboard alone', async () => {
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    for (let steps = 0; steps < 40; steps++) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.textContent')) === 'finished') break;
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector('#chart-success-rate svg');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
    expect(await page.title()).toBe('finished · GenEnv');
    await page.locator('nav[aria-label=Sections] a', { hasText: 'Tasks' }).focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('samples');
  });

  test('shows how arms differ at one place of the axis, with their intervals', async () => {
    const { figures, ...rest } = await served.json<ComparePage>(
      '/api/compare?runs=finished,growing&by=arm&axis=epochs',
    );
    // The two have the same figures, so their mean has no interval.
    for (const { option } of figures)
      (option.series as SeriesOption[])[0]!.data = [1, 2, 3].map((epoch) => [epoch, 0.5, 0.25, 0.75]);
    await page.route(/\/api\/compare\?/, (route) => route.fulfill({ json: { figures, ...rest } }));
    await open('compare?runs=finished,growing&by=arm&axis=epochs', '#chart-compare-success svg');
    const reached = page.locator('[aria-label="Values reached"]');
    expect(await reached.locator('thead th').allTextContents()).toEqual([
      'Figure',
      'At epochs',
      'genenv-tuned, 2 runs',
    ]);
    const place = page.locator('#chart-compare-success');
    const { x, y, width, height } = (await place.boundingBox())!;
    await page.mouse.move(x + width / 2, y + height / 2);
    await place.locator('text=/^[\\d.]+ epochs/').waitFor();
    expect(await place.locator('> div').last().innerText()).toMatch(
      /^\d+ epochs\ngenenv-tuned 0\.5 \[0\.25, 0\.75\]$/,
    );
  });

  test.each(places)('has no violation that axe finds: %s', async (place, selector) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open(place, selector);
      await page.evaluate(axe);
      const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
        `axe.run(document, { rules: { 'color-contrast': { enabled: true } } }).then(({ violations }) => violations)`,
      );
      expect(
        violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes[0]?.html}`),
        place,
      ).toEqual([]);
    }
  });

  test.each(places)('fits a phone, 400 px wide: %s', async (place, selector) => {
    await page.setViewportSize({ width: 400, height: 800 });
    await open(place, selector);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(400);
  });

  test('follows the reader’s colour scheme', async () => {
    await open('runs/finished', '#chart-success-rate svg');
    const stroke = () =>
      page.evaluate(
        `[...document.querySelectorAll('#chart-success-rate svg path')].find((path) => path.getAttribute('d').length > 100)?.getAttribute('stroke')`,
      );
    const light = await stroke();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(stroke).not.toBe(light);
  });

  test('says so when its server is gone, and resumes when it is back', async () => {
    const own = await serveDashboard(home);
    await page.goto(own.address);
    await page.goto(`${own.origin}/#/runs/finished`);
    await page.waitForSelector('#chart-success-rate svg');
    await own[Symbol.asyncDispose]();
    await page.waitForSelector('[role=alert]', { timeout: 15_000 });
    expect(await page.locator('[role=alert]').textContent()).toContain('does not answer');
    await using again = await serveDashboard(home, Number(new URL(own.origin).port));
    await page.waitForSelector('[role=alert]', { state: 'detached', timeout: 30_000 });
    expect(again.origin).toBe(own.origin);
    await page.goto('about:blank');
    complaints.length = 0;
  });

  test('asks for nothing while nobody sees it, and is up to date afterwards', async () => {
    const setHidden = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
         document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await open('runs/growing', '#chart-success-rate svg');
    const value = async () => Number(await page.locator('.card .value').first().textContent());
    const before = await value();
    await setHidden(true);
    await growing.commitNext();
    await page.waitForTimeout(3_000);
    expect(await value()).toBe(before);
    await setHidden(false);
    await expect.poll(value, { timeout: 15_000 }).toBe(before + 1);
  });

  test('has a page for an address that is no encoded text', async () => {
    await page.evaluate(`location.hash = '#/runs/50%'`);
    await page.waitForSelector('[role=alert]');
    expect(await page.locator('[role=alert]').textContent()).toContain('there is no run "50%"');
    complaints.length = 0;
  });

  test('leads from a figure to an epoch of the run that it shows, after another run too', async () => {
    await open('runs/finished', '#chart-success-rate svg');
    await open('runs/growing', 'h1:has-text("growing")');
    await page.waitForSelector('#chart-success-rate svg');
    await open('runs/finished', '#chart-success-rate svg');
    await page.waitForSelector('h1:has-text("finished")');
    const figure = page.locator('#chart-success-rate svg');
    await figure.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await figure.boundingBox())!;
    await page.mouse.click(x + width / 2, y + height / 2);
    await expect.poll(() => page.url()).toMatch(/runs\/finished\/epochs\/\d+$/);
  });
});
