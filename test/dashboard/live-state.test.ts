import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HomeView, LiveView } from '../../src/dashboard/api.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { chromiumMissing, launchChromium } from '../../test-support/chromium.ts';
import { makeRun } from '../report/make-run.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { serveDashboard } from './some-dashboard.ts';

const silent = {
  state: 'unreadable',
  isActive: false,
  problem: 'Temporal does not answer: what is shown is as the files of the run say.',
};

test('the link of a finished run follows the server that is found later', async () => {
  const home = await temporaryFolder();
  await makeRun({ home, runId: 'done', epochs: 2 });
  await using served = await serveDashboard(home);
  const link = async () => (await served.json<LiveView>('/api/runs/done/live')).temporalUi;
  expect(await link()).toBeNull();
  served.source.views.set('done', { temporalUi: 'http://ui/done' });
  await expect.poll(link, { timeout: 10_000 }).toBe('http://ui/done');
});

test('a run of which Temporal does not answer needs attention, and is asked for again', async () => {
  const home = await temporaryFolder();
  await makeRun({ home, runId: 'made', epochs: 2, planned: 9 });
  await using served = await serveDashboard(home);
  served.source.views.set('made', silent);
  const { runs } = await served.json<HomeView>('/api/home');
  expect(runs[0]!.attention).toContain(silent.problem);
  expect(runs.map(({ mayChange }) => mayChange)).toEqual([true]);
});

test('a run whose files cannot be read is not asked for again until one of them changes', async () => {
  const home = await temporaryFolder();
  await makeRun({ home, runId: 'made', epochs: 2 });
  const { ledgerFile } = new RunFolder(join(home, 'runs'), 'made');
  await rm(ledgerFile);
  await mkdir(ledgerFile);
  await using served = await serveDashboard(home);
  const { runs } = await served.json<HomeView>('/api/home');
  expect(runs).toMatchObject([{ state: 'unreadable', mayChange: false }]);
});

test.each([
  ['running', true],
  ['paused', true],
  ['stopping', true],
  ['unreadable', true],
  ['interrupted', true],
  ['stopped', false],
  ['failed', false],
])(
  'a run that is %s may be in another state while its files stay as they are: %s',
  async (state, expected) => {
    const home = await temporaryFolder();
    await makeRun({ home, runId: 'made', epochs: 2, planned: 9 });
    await using served = await serveDashboard(home);
    served.source.views.set('made', { state });
    const { runs } = await served.json<HomeView>('/api/home');
    expect(runs).toMatchObject([{ state, mayChange: expected }]);
  },
);

describe.skipIf(chromiumMissing !== '')(`the page of a run in Chromium${chromiumMissing}`, () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await launchChromium()));
  afterAll(() => browser.close());

  test('says that Temporal does not answer, without a command, and shows what the run does once it does', async () => {
    const home = await temporaryFolder();
    await makeRun({ home, runId: 'made', epochs: 2, planned: 9 });
    await using served = await serveDashboard(home);
    served.source.views.set('made', silent);
    const page = await browser.newPage();
    await page.goto(served.address);
    await page.goto(`${served.origin}/#/runs/made`);
    await page.waitForSelector('.now');
    expect(await page.locator('.now').textContent()).toContain(silent.problem);
    expect(await page.locator('.now').textContent()).not.toMatch(/Nothing is under way|To resume/);
    // The first look at the files tells of all runs; from then on none of them changes.
    await page.waitForTimeout(2_500);
    served.source.views.set('made', { state: 'running', isActive: true });
    await expect.poll(() => page.locator('h1 .pill').textContent(), { timeout: 10_000 }).toBe('running');
    expect(await page.locator('.now').textContent()).not.toContain(silent.problem);
    await page.close();
  });
});
