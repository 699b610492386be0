import { chmod, mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ComparePage, HomeView, RunPage, TaskPage, TasksPage } from '../../src/dashboard/api.ts';
import { ruleText } from '../../src/dashboard/epoch-tasks.ts';
import { formatFixed } from '../../src/report/format.ts';
import { tombstonePath } from '../../src/store/object-paths.ts';
import type { FileRef } from '../../src/store/references.ts';
import type { Progress } from '../../src/types/activity-types.ts';
import { makeRun } from '../report/make-run.ts';
import type { MadeRun } from '../report/make-run.ts';
import { Dashboard } from '../../src/dashboard/server.ts';
import { worldLoader } from '../../src/worlds/registry.ts';
import { FixedSource, serveDashboard, token } from './some-dashboard.ts';
import type { ServedDashboard } from './some-dashboard.ts';

let home = '';
let made: MadeRun;
let served: ServedDashboard;
const bearer = { authorization: `Bearer ${token}` };
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'genenv-dashboard-'));
  made = await makeRun({ home, runId: 'made', epochs: 12, planned: 40 });
  served = await serveDashboard(home);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

/** A page of tasks, once its index is made. */
async function tasksOf(path: string): Promise<TasksPage> {
  await expect.poll(async () => (await served.json<TasksPage>(path)).index).not.toBe('pending');
  return served.json<TasksPage>(path);
}
const outputsOf = async (epoch: number): Promise<{ tasks: FileRef; rewards: FileRef; traces: FileRef[] }> =>
  (
    JSON.parse((await readFile(made.run.ledgerFile, 'utf8')).split('\n')[epoch]!) as {
      outputs: { tasks: FileRef; rewards: FileRef; traces: FileRef[] };
    }
  ).outputs;

describe('who may read', () => {
  test('nobody without the token, and nothing is said of what there is', async () => {
    for (const path of ['/', '/app.js', '/api/home', '/api/runs/made', '/api/events', '/api/no'])
      expect((await served.ask(path)).status, path).toBe(401);
    const wrong = await served.ask('/?token=wrong');
    expect([wrong.status, wrong.headers['content-type'], wrong.text]).toEqual([
      401,
      'text/plain; charset=utf-8',
      'open the address that `genenv dashboard` printed: it has the token\n',
    ]);
    expect((await served.ask('/api/home', { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
  });

  test('a browser that opened the address: it gets a cookie that no script reads, and an address without it', async () => {
    const { status, headers } = await served.ask(`/?token=${token}`);
    expect([status, headers.location]).toEqual([303, '/']);
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Lax; Path=\/;/);
    const page = await served.ask('/', { headers: { cookie: cookie.split(';')[0]! } });
    expect(page.status).toBe(200);
    expect(page.text).toContain('<div id="page">');
  });

  test('whoever opens the address that was printed, when it listens on another one of the machine', async () => {
    const own = new Dashboard({
      home,
      token,
      loadWorld: worldLoader(undefined),
      source: new FixedSource(),
    });
    const address = await own.listen('127.0.0.2', 0);
    expect((await fetch(address, { redirect: 'manual' })).status).toBe(303);
    await own.close();
  });

  test('no page under a name that another site has bound to this address', async () => {
    const answer = await served.ask('/api/home', { headers: { ...bearer, host: 'evil.example:80' } });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('--allow-host');
  });

  test('it only reads', async () => {
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await served.ask('/api/home', { method, headers: bearer })).status, method).toBe(405);
  });

  test('every answer carries a policy under which only its own scripts run', async () => {
    for (const path of ['/', '/api/home', '/api/nothing']) {
      const { headers } = await served.ask(path, { headers: bearer });
      expect(headers['content-security-policy'], path).toContain("default-src 'none'; script-src 'self'");
      expect(headers['content-security-policy'], path).not.toMatch(/script-src[^;]*unsafe/);
      expect(headers['x-content-type-options'], path).toBe('nosniff');
    }
  });
});

describe('what it answers', () => {
  test('all runs, with what they reached', async () => {
    const { runs } = await served.json<HomeView>('/api/home');
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ id: 'made', state: 'interrupted', epoch: 12, epochs: 40 });
    expect(runs[0]!.success.filter((rate) => rate !== null)).toHaveLength(12);
    // The attempt that its twelfth epoch records.
    expect(runs[0]!.retries).toBe(1);
  });

  test('what there is not, by its name', async () => {
    // Of an epoch whose index is being made nothing is said yet.
    const last = '/api/runs/made/epochs/7/tasks/999';
    expect(JSON.parse((await served.ask(last, { headers: bearer })).text)).toEqual({
      message: 'the index of this epoch is being made',
    });
    await expect
      .poll(async () => (await served.ask(last, { headers: bearer })).status, { timeout: 10_000 })
      .toBe(404);
    for (const [path, message] of [
      ['/api/runs/nosuch', 'there is no run "nosuch"'],
      ['/api/runs/made/epochs/999/tasks', 'there is no run "made", or it has no epoch 999 yet'],
      ['/api/runs/made/epochs/7/tasks/999', 'run "made" has no task 999 in epoch 7'],
      ['/api/evaluations/nosuch', 'there is no evaluation "nosuch"'],
    ] as const) {
      const answer = await served.ask(path, { headers: bearer });
      expect([answer.status, JSON.parse(answer.text)], path).toEqual([404, { message }]);
    }
    expect((await served.ask('/api/compare?runs=nosuch,made', { headers: bearer })).status).toBe(404);
  });

  test.each([
    [
      { type: 'threshold', kMin: 0.1, appliesTo: ['environment'] },
      'keeps for the simulator’s update what is solved within 0.1 of α = 0.4.',
    ],
    [
      { type: 'quantile', keep: 0.25, appliesTo: ['agent', 'environment'] },
      'keeps for the agent’s and the simulator’s update the share of 0.25 that is nearest to α = 0.4.',
    ],
    [
      { type: 'topK', k: 8, appliesTo: ['agent'] },
      'keeps for the agent’s update the 8 tasks that are nearest to α = 0.4.',
    ],
  ])('the rule of a filter %j in words', (filter, text) => {
    const experiment = { filter, difficulty: { alpha: 0.4 } } as unknown as Parameters<typeof ruleText>[0];
    expect(ruleText(experiment)).toBe(`The difficulty filter ${text}`);
  });

  test('the rule by which tasks of an epoch were filtered, and whom the run trains', async () => {
    const { rule, isTrained, lastEpoch } = await served.json<TasksPage>('/api/runs/made/epochs/7/tasks');
    expect(rule).toMatch(
      /^The difficulty filter is off: every valid task with rollouts is kept\. \d+ of 32 new tasks are kept for the simulator\.$/,
    );
    expect([isTrained, lastEpoch]).toEqual([{ agent: true, simulator: true }, 12]);
  });

  test('a run that waits needs attention, with the reason of the attempt before', async () => {
    served.source.views.set('made', {
      state: 'running',
      isActive: true,
      phases: [
        {
          phase: 'rollOut',
          workflow: 'made/epoch-0013',
          attempt: 3,
          state: 'running',
          lastFailure: 'connection refused',
          startedAt: '',
          heartbeatAt: '',
        },
      ],
    });
    await expect
      .poll(async () => (await served.json<HomeView>('/api/home')).runs[0]?.attention, { timeout: 10_000 })
      .toContain('rollOut, attempt 3: connection refused');
    const { live } = await served.json<RunPage>('/api/runs/made');
    expect(live.phases[0]).toMatchObject({ attempt: 3, lastFailure: 'connection refused' });
    served.source.views.clear();
  });

  test('a run that waits for a model server, and one whose guards warn, need attention', async () => {
    const waiting = { server: 'http://vllm:8000/v1', reason: 'connection refused', tries: 3, since: '' };
    const progress = { phase: 'epoch 13: roll out', epochSeconds: 30, waiting } as Progress;
    served.source.views.set('made', { state: 'running', isActive: true, progress });
    const line = async () => (await served.json<HomeView>('/api/home')).runs[0]!;
    await expect
      .poll(async () => (await line()).attention, { timeout: 10_000 })
      .toContain('waits for http://vllm:8000/v1');
    // 28 epochs of 30 seconds are left.
    expect(await line()).toMatchObject({ phase: 'epoch 13: roll out', secondsLeft: 840 });
    served.source.views.clear();
    const ledger = await readFile(made.run.ledgerFile, 'utf8');
    await writeFile(
      made.run.ledgerFile,
      ledger.replaceAll('"env/verdict_agreement":1', '"env/verdict_agreement":0.9'),
    );
    expect((await line()).attention).toContain('guard: Verdict agreement');
    await writeFile(made.run.ledgerFile, ledger);
  });

  test('a run with its figures, its history and what was changed', async () => {
    await made.run.writeRetunes([
      { fromEpoch: 4, set: { 'difficulty.alpha': 0.4 }, time: '2026-11-21T09:30:00Z' },
    ]);
    const { view, changes, family } = await served.json<RunPage>('/api/runs/made');
    expect(view.progress).toEqual({ committed: 12, planned: 40 });
    expect(view.figures.flatMap(({ charts }) => charts).length).toBeGreaterThan(20);
    expect(view.history.attempts[0]?.text).toContain('trainAgent, attempt 2: heartbeat timeout');
    expect(changes).toEqual([{ fromEpoch: 4, field: 'difficulty.alpha', before: '0.5', after: '0.4' }]);
    expect(family).toMatchObject({ run: 'made', fromEpoch: null, epoch: 12, forks: [] });
    await made.run.writeRetunes([]);
  });

  test('the tasks of an epoch by filters, a page at a time', async () => {
    const all = await tasksOf('/api/runs/made/epochs/7/tasks');
    expect(all).toMatchObject({ index: 'ready', total: 32, matching: 32 });
    const filtered = await tasksOf('/api/runs/made/epochs/7/tasks?kept=left+out&valid=valid');
    expect(filtered.matching).toBe(
      all.tasks.filter(({ keptForSimulator, valid }) => keptForSimulator === false && valid).length,
    );
    expect(filtered.matching).toBeGreaterThan(0);
    expect(filtered.tasks.every(({ reason }) => reason !== '')).toBe(true);
    const agents = await tasksOf('/api/runs/made/epochs/7/tasks?agent=left+out');
    expect(agents.tasks.map(({ id }) => id)).toEqual(
      all.tasks.filter(({ keptForAgent }) => keptForAgent === false).map(({ id }) => id),
    );
    expect(all.tasks.every(({ targetRate, rate }) => targetRate === rate)).toBe(true);
    const between = await tasksOf('/api/runs/made/epochs/7/tasks?low=0.2&high=0.7');
    expect(between.tasks.every(({ rate }) => rate !== null && rate >= 0.2 && rate <= 0.7)).toBe(true);
    expect((await tasksOf('/api/runs/made/epochs/7/tasks?offset=30')).tasks).toEqual(all.tasks.slice(30));
  });

  test('a task with all attempts at it, their rewards and how they came about', async () => {
    const { tasks } = await tasksOf('/api/runs/made/epochs/7/tasks?valid=valid');
    const { sample, rollouts } = await served.json<TaskPage>(
      `/api/runs/made/epochs/7/tasks/${tasks[0]!.index}`,
    );
    expect(sample.id).toBe(tasks[0]!.id);
    const own = rollouts.filter(({ role }) => role === 'agent');
    expect(own).toHaveLength(8);
    expect(own.filter(({ reward }) => reward === 1)).toHaveLength(tasks[0]!.successes);
    expect(own[0]!.logprob).toBeCloseTo(-0.3 * (own[0]!.text.length + 1), 6);
  });

  test('runs over each other, and the settings in which they differ', async () => {
    await makeRun({ home, runId: 'longer', epochs: 2, planned: 41, seed: 2 });
    const page = await served.json<ComparePage>('/api/compare?runs=made,longer&axis=rollouts');
    expect(page.runs.map(({ id }) => id)).toEqual(['made', 'longer']);
    expect(page.differences).toEqual([{ field: 'epochs', values: ['40', '41'] }]);
    expect(page.curves.map(({ name }) => name)).toEqual(['made', 'longer']);
    const ends = page.reached.map(({ title, at, values }) => [title, at, ...values]);
    // The shorter one has made 2 epochs of 32 tasks with 8 attempts each.
    expect(ends[1]).toEqual([
      'Success on the simulator’s tasks, p̂',
      expect.any(Number),
      expect.stringMatching(/^0\.\d{3}$/),
      expect.stringMatching(/^0\.\d{3}$/),
    ]);
    const usedBy = (name: string) => {
      const drawn = page.figures[1]!.option.series as { name: string; data: [number, number][] }[];
      return drawn.find((curve) => curve.name === name)!.data.at(-1)![0];
    };
    expect(ends[1]![1]).toBe(usedBy('longer'));
    expect(usedBy('longer')).toBeLessThan(usedBy('made'));
    const [heldOut] = page.figures;
    const series = heldOut!.option.series as { name: string; data: [number, number][] }[];
    expect(series.map(({ name }) => name)).toEqual(['made', 'longer']);
    const rollouts = series[0]!.data.map(([used]) => used);
    expect(rollouts).toEqual(rollouts.toSorted((a, b) => a - b));
    expect(rollouts[0]).toBe(0);
  });

  test.each(['rollouts', 'tokens', 'seconds', 'epochs'])('runs and arms along %s', async (axis) => {
    for (const by of ['run', 'arm']) {
      const page = await served.json<ComparePage>(`/api/compare?runs=made,longer&axis=${axis}&by=${by}`);
      const { at, values } = page.reached[1]!;
      expect(at).toBeGreaterThan(0);
      for (const text of values) expect(text).toMatch(/^0\.\d{3}/);
    }
  });

  test('the mean of an arm’s runs with its interval', async () => {
    const page = await served.json<ComparePage>('/api/compare?runs=made,longer&axis=epochs&by=arm');
    const series = page.figures[1]!.option.series as { name: string; data: number[][] }[];
    expect(series.map(({ name }) => name)).toEqual(Array(3).fill('genenv-tuned'));
    const [used, mean, ...interval] = series[0]!.data.at(-1)!;
    expect(used).toBe(2);
    const [low, high] = series.slice(1).map(({ data }) => data.at(-1)![1]!);
    expect(interval).toEqual([low, high]);
    expect(low).toBeLessThan(mean!);
    expect(high).toBeGreaterThan(mean!);
    expect([page.curves, page.differences]).toEqual([[{ name: 'genenv-tuned', runs: 2 }], []]);
    const [shownMean, shownLow, shownHigh] = [mean!, low!, high!].map((value) => formatFixed(value, 3));
    expect(page.reached[1]!.values).toEqual([`${shownMean} [${shownLow}, ${shownHigh}]`]);
    await rm(join(home, 'runs', 'longer'), { recursive: true });
  });
});

describe('what does not belong there', () => {
  test('names that are none, and numbers that are none', async () => {
    const paths = [
      '/api/runs/..%2f..%2fetc',
      '/api/runs/nobody',
      '/api/runs/made/epochs/x/tasks',
      '/api/runs/made/epochs/99/tasks',
      '/api/runs/made/epochs/7/tasks/99999',
      '/api/runs/made/secrets',
      '/api/__proto__',
      '/api/constructor',
      '/api/comparisons/nobody',
      '/api/evaluations/nobody',
      '/reports/runs/made',
      '/reports/evaluations/nobody',
      '/etc/passwd',
    ];
    for (const path of paths) expect((await served.ask(path, { headers: bearer })).status, path).toBe(404);
    const refused = await served.ask('/api/runs/made/epochs/7/tasks?low=2', { headers: bearer });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('low')]);
    expect((await served.ask('/api/compare?runs=', { headers: bearer })).status).toBe(400);
    expect((await served.ask('/api/%E0%A4%A', { headers: bearer })).status).toBe(400);
  });

  test('records that are pruned, altered or of another shape: the page says so, and shows the rest', async () => {
    const pruned = await outputsOf(2);
    await rm(made.store.path(pruned.tasks));
    await writeFile(tombstonePath(made.store.root, pruned.tasks), '{}');
    const page = await tasksOf('/api/runs/made/epochs/2/tasks');
    expect(page.index).toBe('missing');
    expect(page.problem).toContain('missing');

    const { rewards } = await outputsOf(3);
    await tasksOf('/api/runs/made/epochs/3/tasks');
    await chmod(made.store.path(rewards), 0o600);
    await truncate(made.store.path(rewards), 10);
    const { rollouts, gaps } = await served.json<TaskPage>('/api/runs/made/epochs/3/tasks/1');
    expect(gaps.join()).toContain('it ends before byte');
    expect(rollouts.length).toBeGreaterThan(0);
  });

  test('an index that cannot be written now is made at a later look', async () => {
    await served[Symbol.asyncDispose]();
    served = await serveDashboard(home);
    const folder = join(made.run.path, 'index');
    await rm(folder, { recursive: true, force: true });
    await writeFile(folder, '');
    const path = '/api/runs/made/epochs/5/tasks';
    await expect.poll(async () => (await served.json<TasksPage>(path)).problem).not.toBe('');
    await rm(folder);
    await expect.poll(async () => (await tasksOf(path)).index).toBe('ready');
  });

  test('a link in the place of a run is no run', async () => {
    await symlink(join(home, 'runs', 'made'), join(home, 'runs', 'linked'));
    expect((await served.ask('/api/runs/linked', { headers: bearer })).status).toBe(404);
    await rm(join(home, 'runs', 'linked'));
  });

  test('a report that somebody else wrote has no origin, so it reads nothing of the dashboard', async () => {
    const folder = join(home, 'evaluations', 'planted');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'report.html'), '<script>fetch("/api/home")</script>');
    const { headers, text } = await served.ask('/reports/evaluations/planted', { headers: bearer });
    expect(text).toContain('fetch');
    expect(headers['content-security-policy']).toMatch(/^sandbox allow-scripts; default-src 'none'/);
    await rm(folder, { recursive: true });
  });
});
