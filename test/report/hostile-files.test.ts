import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRecordOutcome } from '../../src/activities/experiment/record-outcome.ts';
import { writeReport } from '../../src/report/write-report.ts';
import { chromiumMissing, launchChromium } from '../../test-support/chromium.ts';
import { makeRun } from './make-run.ts';
import type { MadeRun } from './make-run.ts';

/** A run's folder may hold anything: shared disks, other workers of the namespace. The report is a page. */

const payload = (place: string): string =>
  `"'></script><img src=x onerror="document.title='fired ${place}'"><script>document.title='fired ${place}'</script>`;

/** Every field of a line replaced by a payload, one at a time, and one more under a name that is a payload. */
const variants = (line: object, place: string): object[] => [
  ...Object.keys(line).map((field) => ({ ...line, [field]: payload(`${place}.${field}`) })),
  ...Object.keys(line).map((field) => ({ ...line, [field]: [payload(`${place}.${field}[]`)] })),
  { ...line, [payload(`${place}, a name`)]: payload(`${place}, its value`) },
];

const lines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

describe.skipIf(chromiumMissing !== '')(`the report of hostile files in Chromium${chromiumMissing}`, () => {
  let root = '';
  let browser: Browser;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'genenv-hostile-'));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    await rm(root, { recursive: true, force: true });
  });

  /** What came of it in a browser: the title, tags that the page does not make, and all requests. */
  async function openReport(made: MadeRun) {
    const file = await writeReport(made);
    const page = await browser.newPage();
    const requests: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    await page.goto(pathToFileURL(file).href, { timeout: 90_000 });
    await page.selectOption('[name=epoch]', 'all');
    for (const epoch of await page.locator('[name=epoch] option').allTextContents())
      expect(epoch).toMatch(/^(all|\d+)$/);
    await page.waitForTimeout(200);
    const result = {
      title: await page.title(),
      images: await page.locator('img').count(),
      requests: requests.length,
      problems,
      text: await page.innerText('body'),
    };
    await page.close();
    return result;
  }

  const harmless = { images: 0, requests: 1, problems: [] };

  it('shows what events say as text, whichever field holds it', async () => {
    const made = await makeRun({ home: join(root, 'events'), runId: 'events', epochs: 3 });
    const time = '2026-11-21T09:00:00Z';
    await appendFile(
      made.run.eventsFile,
      lines([
        ...[
          'started',
          'resumed',
          'attempt',
          'model-unavailable',
          'note',
          'message',
          'damaged',
          'rewound',
        ].flatMap((type) =>
          variants(
            {
              type,
              time,
              at: time,
              epoch: 2,
              phase: 'rollOut',
              attempt: 2,
              reason: 'r',
              note: 'n',
              message: 'm',
            },
            type,
          ),
        ),
        ...variants({ type: 'ended', time, epoch: 3, outcome: 'finished', reason: 'r' }, 'ended'),
      ]),
    );
    const { title, ...page } = await openReport(made);
    expect(title).toBe('events · GenEnv report');
    expect(page).toMatchObject(harmless);
    expect(page.text).toContain("fired note.note'");
  }, 120_000);

  it('shows what the ledger and the metrics say as text, and leaves out metrics that are no numbers', async () => {
    const made = await makeRun({ home: join(root, 'ledger'), runId: 'ledger', epochs: 3 });
    const ledger = (await readFile(made.run.ledgerFile, 'utf8')).trim().split('\n');
    const last = JSON.parse(ledger.at(-1)!) as { epoch: number; metrics: object };
    await appendFile(
      made.run.ledgerFile,
      lines([
        ...variants(last, 'ledger'),
        ...Object.keys(last.metrics).map((name, index) => ({
          ...last,
          epoch: 10 + index,
          metrics: { ...last.metrics, [name]: payload(`metric ${name}`) },
        })),
        {
          ...last,
          epoch: 99,
          metrics: Object.fromEntries(
            [
              '',
              'env/kind/',
              'env/invalid/',
              'env/success_rate_hist/',
              'eval/heldout/',
              'clip_ratio/',
              'rollouts/',
            ].map((prefix) => [`${prefix}${payload('a metric’s name')}`, 1]),
          ),
          notes: [payload('a note')],
        },
      ]),
    );
    await appendFile(
      made.run.metricsFile,
      lines(variants({ epoch: 3, metrics: {}, time: { epoch: 3 }, at: 'x' }, 'metrics')),
    );
    await appendFile(
      made.run.metricsFile,
      lines([{ epoch: 3, time: { [payload('a phase')]: 3, epoch: payload('seconds') } }]),
    );
    const { title, ...page } = await openReport(made);
    expect(title).toBe('ledger · GenEnv report');
    expect(page).toMatchObject(harmless);
    expect(page.text).toContain("fired a note'");
    expect(page.text).toContain('could not be shown');
  }, 120_000);

  it.each([
    [
      'fork.json',
      { run: payload('fork.run'), epoch: 1, line: { epoch: 1, metrics: {}, notes: [], outputs: {} } },
    ],
    ['fork.json', { run: 'parent', epoch: payload('fork.epoch'), line: { epoch: 1 } }],
    ['retunes.json', [{ fromEpoch: payload('retune.fromEpoch'), set: { epochs: 3 }, time: 't' }]],
    ['retunes.json', [{ fromEpoch: 2, set: { [payload('retune.set')]: payload('its value') }, time: 't' }]],
    ['retunes.json', [{ fromEpoch: 2, set: { epochs: 3 }, time: payload('retune.time') }]],
    [
      'experiment.json',
      { name: payload('experiment.name'), epochs: payload('epochs'), world: { type: payload('world') } },
    ],
  ])(
    'shows what %s says as text, or says that it does not hold (%#)',
    async (name, content) => {
      const runId = `run-${Math.floor(performance.now() * 1000)}`;
      const made = await makeRun({ home: join(root, runId), runId, epochs: 2 });
      await writeFile(join(made.run.path, name), JSON.stringify(content));
      const { title, ...page } = await openReport(made);
      expect(title).toBe(`${runId} · GenEnv report`);
      expect(page).toMatchObject(harmless);
    },
    60_000,
  );

  it('lets nothing run that finds its way into the page all the same', async () => {
    const made = await makeRun({ home: join(root, 'policy'), runId: 'policy', epochs: 2 });
    const file = await writeReport(made);
    const html = await readFile(file, 'utf8');
    await writeFile(
      file,
      html.replace('<main>', `<main>${payload('the page itself')}<form action="http://127.0.0.1:1/"></form>`),
    );
    const page = await browser.newPage();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    await page.waitForTimeout(200);
    expect(await page.title()).toBe('policy · GenEnv report');
    // The page's own scripts have run.
    expect(await page.locator('.chart svg').count()).toBeGreaterThan(5);
    await page.evaluate('document.querySelector("form").submit()');
    await page.waitForTimeout(200);
    expect(requests.filter((url) => url.startsWith('http'))).toEqual([]);
    await page.close();
  }, 120_000);
});

it('an ended run is recorded as that, whatever else the input holds', async () => {
  const root = await mkdtemp(join(tmpdir(), 'genenv-ended-'));
  const { run } = await makeRun({ home: root, runId: 'ended', epochs: 1, planned: 2 });
  const record = createRecordOutcome({ runFolder: () => run } as never);
  await record({
    id: 'ended',
    type: 'note',
    outcome: 'finished',
    epoch: 1,
    note: payload('a note'),
    [payload('a field')]: 1,
  } as never);
  const event = (await run.events()).at(-1);
  expect(event).toEqual({ type: 'ended', outcome: 'finished', epoch: 1, time: expect.any(String) as string });
  await rm(root, { recursive: true });
});
