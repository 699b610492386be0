import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskPage, TasksPage } from '../src/dashboard/api.ts';
import { Dashboard } from '../src/dashboard/server.ts';
import { worldLoader } from '../src/worlds/registry.ts';

/** Serves the home at `<home>`, asks for the tasks of an epoch and for one of them, and prints how long that took. */
const [home] = process.argv.slice(2) as [string];
const token = 'a-token-of-24-characters';
const live = {
  state: 'interrupted',
  isActive: false,
  progress: null,
  phases: [],
  jobs: [],
  temporalUi: null,
  resumeCommand: null,
};
const dashboard = new Dashboard({
  home,
  token,
  loadWorld: worldLoader(undefined),
  source: { live: () => Promise.resolve(live) },
});
const { origin } = new URL(await dashboard.listen('127.0.0.1', 0));

async function ask<T>(path: string): Promise<T> {
  const response = await fetch(`${origin}/api/runs/large/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

const tasksSeconds = await seconds(async () => {
  while ((await ask<TasksPage>('epochs/1/tasks')).index !== 'ready') await sleep(20);
});
const taskSeconds = await seconds(async () => {
  const { rollouts, gaps } = await ask<TaskPage>('epochs/1/tasks/100');
  if (rollouts.length !== 8 || gaps.length > 0)
    throw new Error(`got ${rollouts.length} rollouts; ${gaps.join()}`);
});
console.log(
  JSON.stringify({
    tasks_seconds: tasksSeconds,
    task_seconds: taskSeconds,
    peak_megabytes: process.resourceUsage().maxRSS / 1024,
  }),
);
await dashboard.close();
