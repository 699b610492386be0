import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EpochOutputs } from '../../src/report/run-data.ts';
import { writeReport } from '../../src/report/write-report.ts';
import { tombstonePath } from '../../src/store/object-paths.ts';
import { reportData } from '../../test-support/report-data.ts';
import { makeRun } from './make-run.ts';
import type { MadeRun } from './make-run.ts';
import { worldLoader } from '../../src/worlds/registry.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'genenv-report-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const viewOf = (page: string) => reportData(page).view;
const samplesOf = (page: string) => reportData(page).samples;
/** All texts of the view. */
const textOf = (page: string) =>
  textsIn(viewOf(page))
    .join(' ')
    .replace(/\u202f/g, ' ');
const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};
const report = async (run: MadeRun) => readFile(await writeReport(run), 'utf8');
const outputsOf = async (run: MadeRun, epoch: number) =>
  (
    JSON.parse((await readFile(run.run.ledgerFile, 'utf8')).split('\n')[epoch] ?? '') as {
      outputs: EpochOutputs;
    }
  ).outputs;

describe('a run of a world from outside, disturbed', () => {
  it('has the name of its world, failed requests and messages, and no difficulty that nobody named', async () => {
    const made = await makeRun({ home: join(root, 'outside'), epochs: 3 });
    const { experimentFile, metricsFile } = made.run;
    const file = JSON.parse(await readFile(experimentFile, 'utf8')) as object;
    const own = textOf(await report(made));
    expect(own).toMatch(/Task difficulty \(symbols\)/);
    expect(own).toContain('world toolbox');
    expect(own).not.toContain('failed and were sent again');

    await writeFile(experimentFile, JSON.stringify({ ...file, world: { type: 'external', name: 'sums' } }));
    const lines = (await readFile(metricsFile, 'utf8')).trim().split('\n');
    const [first, ...rest] = lines.map((line) => JSON.parse(line) as { metrics: object });
    const retried = { ...first, metrics: { ...first!.metrics, 'rollouts/retried': 17 } };
    await writeFile(metricsFile, [retried, ...rest].map((line) => `${JSON.stringify(line)}\n`).join(''));
    await made.run.appendEvent({
      type: 'message',
      epoch: 2,
      message: '0 of 16 tasks valid: <b>11</b> cut_off',
    });
    await made.run.appendEvent({ type: 'note', epoch: 2, note: 'agent: no update (empty_batch)' });
    await made.run.appendEvent({
      type: 'model-unavailable',
      phase: 'rollOut',
      server: 'http://x/v1',
      reason: 'connection refused',
      tries: 1,
    });
    const loadWorld = worldLoader('sums=./test/worlds/outside/sums.ts');
    const page = await readFile(await writeReport({ ...made, loadWorld }), 'utf8');
    const text = textOf(page);
    expect(text).toContain('world sums');
    expect(text).not.toContain('Task difficulty');
    expect(text).toContain('17 requests failed and were sent again');
    expect(text).toContain('0 of 16 tasks valid: <b>11');
    expect(page).not.toContain('<b>11');
    expect(text).toContain('agent: no update (no record to learn from)');
    expect(viewOf(page).history.attempts.map((line) => line.text)).toContainEqual(
      expect.stringContaining('connection refused'),
    );
  });
});

describe('a finished run', () => {
  let run: MadeRun;
  let page = '';
  beforeAll(async () => {
    run = await makeRun({ home: join(root, 'finished'), epochs: 40 });
    page = await report(run);
  });

  it('needs nothing from elsewhere', () => {
    const markup = page.replace(/<script[\s\S]*?<\/script>/g, '');
    expect(markup).not.toMatch(/(src|href)="(?!#|data:)|@import|url\(/);
    expect(page.match(/<\/script>/g)).toHaveLength(3);
    expect(Buffer.byteLength(page)).toBeLessThan(5_000_000);
  });

  it('shows a note once, though the ledger and the events have it', () => {
    expect(viewOf(page).history.notes).toEqual([
      { epoch: 3, text: 'agent: no update, 1 informative group (2 needed)' },
    ]);
  });

  it('says what the data says', () => {
    const text = textOf(page);
    expect(text).toMatch(
      /started at 0\.0\d, entered \[0\.4, 0\.6\] in epoch \d+ and was there in \d+ % of the second half/,
    );
    expect(text).toMatch(/Held-out success rose from 0\.\d\d \[/);
    expect(text).toContain('Resumed once; one retry of a phase.');
    expect(text).toContain('agent: no update, 1 informative group (2 needed)');
    expect(viewOf(page).gaps).toEqual([]);
  });

  it('names the ledger by the hash that the store vouches for', async () => {
    const read = await run.run.readExperiment();
    const head = await run.run.ledger(read?.sha256 ?? '').head();
    expect(page).toContain(head?.sha256 ?? 'no head');
    expect(page).toContain(read?.sha256 ?? 'no hash');
  });

  it('shows at most 30 epochs of at most 12 tasks, from never to always solved, with the invalid', () => {
    const samples = samplesOf(page);
    expect(samples).toHaveLength(30);
    expect([samples[0]?.epoch, samples.at(-1)?.epoch]).toEqual([1, 40]);
    expect(samples.every((epoch) => epoch.samples.length === 12)).toBe(true);
    const all = samples.flatMap((epoch) => epoch.samples);
    expect(all.some(({ valid }) => !valid)).toBe(true);
    const solved = all.find(({ rate }) => rate === 1) ?? expect.fail('no task was always solved');
    expect(JSON.parse(solved.task)).toMatchObject({ evaluation: { kind: 'exact_call' } });
    expect(solved.answers.filter(({ role }) => role === 'agent').map(({ text }) => text)).toEqual(
      Array(8).fill(solved.reference),
    );
    expect(solved).toMatchObject({
      successes: 8,
      attempts: 8,
      keptForAgent: true,
      keptForSimulator: false,
      reason: 'too easy',
    });
  });

  it('is the same when written again, but for the moment', async () => {
    const timeless = (text: string) => text.replace(/"writtenAt":"[^"]*"/, '');
    expect(timeless(await report(run))).toBe(timeless(page));
    expect((await readdir(run.run.path)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('never lets text of a model become markup', () => {
    expect(JSON.stringify(samplesOf(page))).toContain('<b>&</script>');
    expect(page).not.toContain('<b>&</script>');
  });
});

describe('a run in progress', () => {
  it('of no epoch', async () => {
    const run = await makeRun({ home: join(root, 'fresh'), epochs: 0, planned: 40 });
    const page = await report(run);
    expect(viewOf(page).state.text).toBe('in progress: 0 of 40 epochs');
    expect(textOf(page)).toContain('No epoch has been committed yet');
    expect(samplesOf(page)).toEqual([]);
  });

  it('of three epochs', async () => {
    const run = await makeRun({ home: join(root, 'early'), epochs: 3, planned: 40 });
    const text = textOf(await report(run));
    expect(text).toContain('in progress: 3 of 40 epochs');
    expect(text).toContain('Too early to judge: 3 epochs committed');
  });

  it('with nothing but its experiment file', async () => {
    const run = await makeRun({ home: join(root, 'bare'), epochs: 0, planned: 40 });
    for (const file of [run.run.ledgerFile, run.run.metricsFile, run.run.eventsFile]) await rm(file);
    const text = textOf(await report(run));
    expect(text).toContain('ledger.jsonl is missing.');
    expect(text).toContain('metrics.jsonl is missing.');
  });
});

describe('a run that was steered', () => {
  it('says where it was forked from, what was retuned, and that it was stopped', async () => {
    const home = join(root, 'steered');
    const grandparent = await makeRun({ home, runId: 'first', epochs: 2, planned: 9 });
    const lineOf = async ({ run }: MadeRun, epoch: number) =>
      (await (await run.open())!.ledger.read())[epoch]!;
    const parent = await makeRun({ home, runId: 'second', epochs: 2, planned: 9 });
    const line = await lineOf(parent, 2);
    await parent.run.writeFork({ run: 'first', epoch: 1, line: await lineOf(grandparent, 1) });
    const { run, ...child } = await makeRun({ home, runId: 'third', epochs: 6, planned: 9 });
    await run.writeFork({ run: 'second', epoch: 2, line });
    await run.writeRetunes([
      { fromEpoch: 4, set: { 'difficulty.alpha': 0.4 }, time: '2026-11-21T09:30:00Z' },
      { fromEpoch: 5, set: { epochs: 12 }, time: '2026-11-21T09:40:00Z' },
    ]);
    await run.appendEvent({ type: 'ended', outcome: 'stopped', epoch: 6 });
    const page = await report({ run, ...child });
    const text = textOf(page);
    expect(viewOf(page).state.text).toBe('stopped after epoch 6');
    expect(text).toContain(
      'This run was forked from second at epoch 2, which was forked from first at epoch 1; epochs are counted from the start of first.',
    );
    expect(text).toContain('to epoch 6 of 12');
    expect(viewOf(page).history.retunes).toEqual([
      { fromEpoch: 4, text: 'difficulty.alpha = 0.4', at: '2026-11-21 09:30:00 UTC' },
      { fromEpoch: 5, text: 'epochs = 12', at: '2026-11-21 09:40:00 UTC' },
    ]);
    const charts = viewOf(page).figures.flatMap((section) => section.charts);
    const successRate = charts.find(({ id }) => id === 'success-rate')?.option.series;
    expect(successRate).toMatchObject([
      {
        markLine: {
          data: [
            { xAxis: '4', label: { formatter: 'difficulty.alpha = 0.4' } },
            { xAxis: '5', label: { formatter: 'epochs = 12' } },
          ],
        },
      },
      ...Array<object>((successRate as object[]).length - 1).fill({}),
    ]);
    await run.appendEvent({ type: 'resumed', epoch: 6 });
    expect(textOf(await report({ run, ...child }))).toContain('in progress: 6 of 12 epochs');
    await run.appendEvent({ type: 'ended', outcome: 'failed', epoch: 6, reason: 'loss is <NaN>' });
    expect(textOf(await report({ run, ...child }))).toContain('loss is <NaN>');
  });
});

describe('a run with damage', () => {
  it('says what is pruned, missing, altered and torn, and shows the rest', async () => {
    const run = await makeRun({ home: join(root, 'damaged'), epochs: 4 });
    const [tasks, traces, rewards] = [
      (await outputsOf(run, 1)).tasks,
      (await outputsOf(run, 2)).traces?.[0],
      (await outputsOf(run, 3)).rewards,
    ];
    if (!tasks || !traces || !rewards) return expect.fail('no outputs');
    await rm(run.store.path(tasks));
    await writeFile(tombstonePath(run.store.root, tasks), '{}');
    await rm(run.store.path(traces));
    await truncate(run.store.path(rewards), 100);
    await appendFile(run.run.metricsFile, '{"epoch":5,"met');
    const page = await report(run);
    const text = textOf(page);
    expect(text).toContain('epoch 1: tasks: pruned by `genenv gc`.');
    expect(text).toContain('epoch 2: traces: missing.');
    expect(text).toContain('epoch 3: rewards: altered or torn.');
    expect(text).toContain('metrics.jsonl: line 6 is torn');
    expect(samplesOf(page).map(({ epoch }) => epoch)).toEqual([2, 3, 4]);
  });

  it('says that an altered ledger does not verify', async () => {
    const run = await makeRun({ home: join(root, 'altered'), epochs: 2 });
    await writeFile(
      run.run.ledgerFile,
      (await readFile(run.run.ledgerFile, 'utf8')).replace('"env/steps":2', '"env/steps":3'),
    );
    expect(textOf(await report(run))).toContain('ledger.jsonl does not verify');
  });

  it('does without the experiment file', async () => {
    const run = await makeRun({ home: join(root, 'nameless'), epochs: 2 });
    await rm(run.run.experimentFile);
    const page = await report(run);
    expect(textOf(page)).toContain('experiment.json is missing');
    expect(samplesOf(page)[0]?.samples.find(({ valid }) => valid)?.task).toMatch(/^[TUVW]:[a-i]+$/);
  });

  it('does with the experiment file of another version', async () => {
    const run = await makeRun({ home: join(root, 'older'), epochs: 2 });
    await writeFile(
      run.run.experimentFile,
      JSON.stringify({ ...run.experiment, epochs: 'two', world: { type: 'mars' } }),
    );
    const page = await report(run);
    expect(textOf(page)).toContain('experiment.json was written by another version (it differs in epochs)');
    expect(viewOf(page).record.experiment).toMatchObject({ world: { type: 'mars' } });
  });

  it('is no report where there is no run', async () => {
    await expect(writeReport({ home: root, runId: 'nobody' })).rejects.toThrow('No run "nobody"');
    await expect(writeReport({ home: root, runId: '../etc' })).rejects.toThrow('Experiment id');
  });
});
