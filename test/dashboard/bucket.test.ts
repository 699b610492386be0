import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseComparison } from '../../src/config/comparison.ts';
import type { HomeView, RunPage, TaskPage, TasksPage } from '../../src/dashboard/api.ts';
import { ResultsPages } from '../../src/dashboard/results-pages.ts';
import { shareHome } from '../../src/runs/connect-store.ts';
import { ComparisonFolder } from '../../src/runs/result-folders.ts';
import { experimentFile } from '../../test-support/experiments.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { makeEvaluation } from '../evaluation/make-evaluation.ts';
import { makeRun } from '../report/make-run.ts';
import { someCases } from '../report/some-evaluation-view.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { serveDashboard } from './some-dashboard.ts';

test('a run in a bucket is shown on a machine whose disk has nothing of it, with its tasks and rollouts', async () => {
  await using s3 = await FakeS3.start();
  const [maker, reader] = [await memoryFolder(), await memoryFolder()];
  for (const home of [maker, reader])
    shareHome(s3.bucket('team'), { store: join(home, 'store'), runs: join(home, 'runs') });
  await makeRun({ home: maker, runId: 'far', epochs: 4, planned: 9 });
  for (const folder of ['runs', 'store']) await rm(join(maker, folder), { recursive: true });
  await using served = await serveDashboard(reader);
  const { runs } = await served.json<HomeView>('/api/home');
  expect(runs).toMatchObject([{ id: 'far', epoch: 4, epochs: 9 }]);
  const { view } = await served.json<RunPage>('/api/runs/far');
  expect(view.gaps).toEqual([]);
  const tasksPath = '/api/runs/far/epochs/3/tasks';
  await expect
    .poll(async () => (await served.json<TasksPage>(tasksPath)).index, { timeout: 20_000 })
    .toBe('ready');
  const { tasks } = await served.json<TasksPage>(`${tasksPath}?valid=valid`);
  const { rollouts, gaps } = await served.json<TaskPage>(`${tasksPath}/${tasks[0]!.index}`);
  expect(gaps).toEqual([]);
  expect(rollouts.filter(({ role }) => role === 'agent')).toHaveLength(8);
});

test('results that are written on another machine are shown, also after a moment without the bucket', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await using s3 = await FakeS3.start();
  const [maker, reader] = [await memoryFolder(), await memoryFolder()];
  for (const home of [maker, reader])
    shareHome(s3.bucket('team', 1), { store: join(home, 'store'), runs: join(home, 'runs') });
  const evaluation = await makeEvaluation(maker, 'sums', someCases('sums', 3));
  const comparison = new ComparisonFolder(join(maker, 'comparisons'), 'tiny');
  await comparison.write(parseComparison(experimentFile('compare-tiny')));
  const shownBy = async (pages: ResultsPages) => [
    ...(await pages.evaluations()).map(({ hasEnded }) => hasEnded),
    ((await pages.evaluation('sums'))?.view ?? null) !== null,
    ...(await pages.comparisons()).map(({ line }) => line.isSummarized),
  ];
  const pages = new ResultsPages(reader);
  expect(await shownBy(pages)).toEqual([false, false, false]);
  for (const file of [evaluation.casesFile, evaluation.resultsFile])
    await evaluation.writeFile(file, await readFile(file, 'utf8'));
  await comparison.writeFile(comparison.summaryFile, await readFile('docs/results-steps-p02.json', 'utf8'));
  vi.setSystemTime(Date.now() + 11_000);
  expect(await shownBy(pages)).toEqual([true, true, true]);

  await rm(join(reader, 'evaluations'), { recursive: true });
  const later = new ResultsPages(reader);
  s3.fault = ({ key }) => (key.endsWith('results.json') ? 'busy' : undefined);
  for (let looks = 0; looks < 2; looks++)
    expect(await later.evaluations()).toMatchObject([{ hasEnded: false }]);
  s3.fault = () => undefined;
  expect(await later.evaluations()).toMatchObject([{ hasEnded: true }]);
});
