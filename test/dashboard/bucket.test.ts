import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HomeView, RunPage, TaskPage, TasksPage } from '../../src/dashboard/api.ts';
import { shareHome } from '../../src/runs/connect-store.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { makeRun } from '../report/make-run.ts';
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
