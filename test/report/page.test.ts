import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writeReport } from '../../src/report/write-report.ts';
import { chromiumMissing, complaintsOf, launchChromium } from '../../test-support/chromium.ts';
import { makeRun } from './make-run.ts';

describe.skipIf(chromiumMissing !== '')(`the report in Chromium${chromiumMissing}`, () => {
  let root = '';
  let browser: Browser;
  let [full, empty] = ['', ''];
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'genenv-page-'));
    full = await writeReport(await makeRun({ home: root, runId: 'full', epochs: 40 }));
    empty = await writeReport(await makeRun({ home: root, runId: 'empty', epochs: 0, planned: 40 }));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await rm(root, { recursive: true, force: true });
  });

  let page: Page;
  let [complaints, requests]: [string[], string[]] = [[], []];
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
    complaints = complaintsOf(page);
    requests = [];
    page.on('request', (request) => requests.push(request.url()));
  });
  afterEach(async () => {
    await page.close();
    expect(complaints).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  const open = (file: string) => page.goto(pathToFileURL(file).href);
  /** For each figure: shapes with an outline of their own, inside the visible area. */
  const shapes = () =>
    page.evaluate<[string, number][]>(`[...document.querySelectorAll('.chart')].map((figure) =>
    [figure.id, [...figure.querySelectorAll('svg path')].filter((path) => path.getAttribute('d').length > 8 && path.getBoundingClientRect().width > 2).length])`);
  /** Paths of the success curve: many points, not axes or markers. */
  const curve = (get: string) =>
    page.evaluate<(string | number)[]>(
      `[...document.querySelectorAll('#chart-success-rate svg path')].filter((path) => path.getAttribute('d').length > 300).map((path) => path.${get})`,
    );
  const shown = async () => ({
    ids: await page.locator('.sample .id').allTextContents(),
    said: await page.locator('#sample-count').textContent(),
  });

  it('draws every figure', async () => {
    await open(full);
    const drawn = await shapes();
    expect(drawn.map(([id]) => id)).toEqual(
      expect.arrayContaining([
        'chart-success-rate',
        'chart-success-histogram',
        'chart-held-out',
        'chart-held-out-grid-start',
        'chart-time',
        'chart-filtered',
        'chart-kl',
      ]),
    );
    expect(drawn.length).toBeGreaterThan(24);
    for (const [id, count] of drawn) expect(count, id).toBeGreaterThan(2);
    expect(await curve('getBoundingClientRect().width')).toEqual([
      expect.toSatisfy((width: number) => width > 900),
    ]);
  });

  it('follows the reader’s colour scheme', async () => {
    await open(full);
    const stroke = () => curve("getAttribute('stroke')");
    expect(await stroke()).toEqual(['#2f62c9']);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(stroke).toEqual(['#7da7f5']);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(20, 22, 26)');
  });

  it('filters the tasks', async () => {
    await open(full);
    const last = await shown();
    expect(last.ids).toHaveLength(12);
    expect(last.ids.every((id) => id.startsWith('epoch-0040/'))).toBe(true);
    expect(last.said).toContain('12 of 12 sampled tasks (epoch 40 had 32).');

    await page.click('#previous-epoch');
    expect((await shown()).ids[0]).toMatch(/^epoch-0039\//);
    await page.selectOption('[name=epoch]', 'all');
    expect((await shown()).said).toContain('360 of 360 sampled tasks of 30 epochs.');
    await page.selectOption('[name=valid]', 'invalid');
    const invalid = Number.parseInt((await shown()).said ?? '', 10);
    expect(invalid).toBeGreaterThan(0);
    expect(await page.locator('.sample .chip.bad').first().textContent()).toMatch(/^invalid: /);
    await page.selectOption('[name=valid]', '');
    await page.selectOption('[name=kept]', 'left out');
    const filtered = Number.parseInt((await shown()).said ?? '', 10);
    expect(filtered).toBeGreaterThan(0);
    expect(filtered).toBeLessThan(360);
    await page.selectOption('[name=kept]', '');
    await page.selectOption('[name=kind]', 'T');
    expect(new Set(await page.locator('.sample summary .chip:nth-of-type(2)').allTextContents())).toEqual(
      new Set(['kind T']),
    );
    await page.fill('[name=low]', '1');
    expect(new Set(await page.locator('.sample .rate').allTextContents())).toEqual(new Set(['8/8']));
    await page.click('button[type=reset]');
    await expect.poll(async () => (await shown()).ids).toEqual(last.ids);
    await page.fill('[name=text]', 'no such text anywhere');
    expect(await shown()).toMatchObject({ ids: [], said: expect.stringContaining('0 of 12') as string });
  });

  it('opens a task with its answers, as text', async () => {
    await open(full);
    await page.selectOption('[name=epoch]', 'all');
    await page.fill('[name=text]', '<b>&</script>');
    const first = page.locator('.sample').first();
    if ((await first.getAttribute('open')) === null) await first.locator('summary').click();
    await expect
      .poll(() => first.locator('pre').allTextContents())
      .toContainEqual(expect.stringContaining('<b>&</script>'));
    await page.fill('[name=text]', '');
    await page.selectOption('[name=valid]', 'valid');
    const opened = page.locator('.sample').nth(5);
    await opened.locator('summary').click();
    await expect.poll(() => opened.locator('.answers').first().locator('tbody tr').count()).toBe(8);
    expect(await opened.locator('pre').allTextContents()).toContainEqual(
      expect.stringContaining('"evaluation"'),
    );
  });

  it('goes from a point of a figure to the tasks of that epoch', async () => {
    await open(full);
    const box = (await page.locator('#chart-difficulty').boundingBox()) ?? expect.fail('no figure');
    await page.mouse.click(box.x + box.width - 20, box.y + box.height / 2);
    await page.locator('#chart-difficulty').scrollIntoViewIfNeeded();
    const again = (await page.locator('#chart-difficulty').boundingBox()) ?? expect.fail('no figure');
    await page.mouse.click(again.x + 50, again.y + again.height / 2);
    await expect.poll(() => page.inputValue('[name=epoch]')).toMatch(/^[12]$/);
  });

  it('fits a telephone and a sheet of paper', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await open(full);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(50_000);
  });

  it('shows a run of no epoch', async () => {
    await open(empty);
    expect(await page.locator('h1').textContent()).toContain('in progress: 0 of 40 epochs');
    for (const [id, count] of await shapes()) expect(count, id).toBeGreaterThan(1);
  });
});
