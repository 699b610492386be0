import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { differenceText } from '../../src/comparison/seed-estimates.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { Progress } from '../../src/types/activity-types.ts';
import type { CasesPage, ComparisonPage, EvaluationPage, HomeView } from '../../src/dashboard/api.ts';
import { ComparisonFolder } from '../../src/runs/result-folders.ts';
import { experimentFile } from '../../test-support/experiments.ts';
import { makeRun } from '../report/make-run.ts';
import { makeEvaluation } from '../evaluation/make-evaluation.ts';
import { someCases } from '../report/some-evaluation-view.ts';
import { serveDashboard, token } from './some-dashboard.ts';
import type { ServedDashboard } from './some-dashboard.ts';

let home = '';
let served: ServedDashboard;
const bearer = { authorization: `Bearer ${token}` };
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'genenv-results-'));
  served = await serveDashboard(home);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

describe('a comparison', () => {
  test('has what was asked beforehand, its claims and its runs', async () => {
    const published = JSON.parse(await readFile('docs/results-steps-p02.json', 'utf8')) as Summary;
    const [censored, measured] = published.primary;
    censored!.difference = { ...censored!.difference!, low: null, high: null, isCensored: true };
    const folder = new ComparisonFolder(join(home, 'comparisons'), 'steps');
    await folder.write(parseComparison(experimentFile('compare-steps-p02')));
    await writeFile(folder.summaryFile, JSON.stringify(published));
    const { summary, arms, seeds } = await served.json<ComparisonPage>('/api/comparisons/steps');
    expect(summary?.primary.map(({ arm, against, verdict, p }) => [arm, against, verdict, p])).toEqual(
      published.primary.map(({ arm, against, verdict, p }) => [arm, against, verdict, p!.toFixed(3)]),
    );
    expect(summary?.primary.slice(0, 2).map(({ difference }) => difference)).toEqual([
      '–',
      differenceText({ ...measured!.difference!, p: measured!.p, adjusted: null }),
    ]);
    expect(summary?.claims).toEqual(published.claims);
    expect([arms.length, seeds.length]).toEqual([18, 6]);
    expect(arms[0]!.runs[0]).toMatchObject({ id: 'steps.random-all.21', state: 'not started' });
    await makeRun({ home, runId: 'steps.random-all.22', epochs: 3 });
    const second = async () => (await served.json<ComparisonPage>('/api/comparisons/steps')).arms[0]!.runs[1];
    await expect
      .poll(second, { timeout: 10_000 })
      .toMatchObject({ seed: 22, state: 'finished', isFinished: true });
    // One run commits an epoch in 4 s, and of all 108 one has ended.
    const planned = published.epochs;
    served.source.views.set('steps.random-all.23', {
      state: 'running',
      isActive: true,
      progress: { phase: '', epochSeconds: 4 } as Progress,
    });
    await makeRun({ home, runId: 'steps.random-all.23', epochs: 2, planned });
    const left = async () => (await served.json<ComparisonPage>('/api/comparisons/steps')).secondsLeft;
    await expect.poll(left, { timeout: 10_000 }).toBeCloseTo(4 * (106 * planned + (planned - 2)), 6);
    expect((await served.ask('/api/comparisons/other', { headers: bearer })).text).toContain(
      'there is no comparison \\"other\\"',
    );
    await expect
      .poll(async () => (await served.json<HomeView>('/api/home')).comparisons, { timeout: 10_000 })
      .toEqual([{ id: 'steps', arms: 18, seeds: 6, isSummarized: true }]);
  });
});

test('a run belongs to the comparison whose plan has it, not to one with a shorter name', async () => {
  const plan = parseComparison(experimentFile('compare-tiny'));
  for (const id of ['wide', 'wide.v2']) await new ComparisonFolder(join(home, 'comparisons'), id).write(plan);
  for (const runId of ['wide.tuned.1', 'wide.v2.tuned.1', 'wide.tuned.1-fork-2'])
    await makeRun({ home, runId, epochs: 2 });
  const owners = async () => {
    const { runs } = await served.json<HomeView>('/api/home');
    return runs.filter(({ id }) => id.startsWith('wide')).map(({ id, comparison }) => [id, comparison]);
  };
  await expect
    .poll(async () => Object.fromEntries(await owners()) as unknown, { timeout: 10_000 })
    .toEqual({ 'wide.tuned.1': 'wide', 'wide.v2.tuned.1': 'wide.v2', 'wide.tuned.1-fork-2': null });
  for (const id of ['wide', 'wide.v2'])
    await rm(join(home, 'comparisons', id), { recursive: true, force: true });
});

describe('an evaluation', () => {
  beforeAll(async () => {
    await makeEvaluation(home, 'sums', someCases('sums', 40, { answer: '<img src=x>' }));
  });

  test('has its figures with intervals, beside the paper’s rows', async () => {
    const { view, hasReport } = await served.json<EvaluationPage>('/api/evaluations/sums');
    expect(hasReport).toBe(false);
    expect(view?.suites[0]?.figures[0]).toMatchObject({ name: 'sums_exact', total: 40 });
    expect(view?.suites[0]?.figures[0]?.low).toBeLessThan(26 / 40);
    expect(view?.paper.rows.find(({ model }) => model === 'GenEnv')?.mean).toBe(53.6);
    expect(view?.cases).toEqual([]);
    // A list of folders is taken as true for a second.
    await expect
      .poll(async () => (await served.json<HomeView>('/api/home')).evaluations, { timeout: 10_000 })
      .toEqual([{ id: 'sums', hasEnded: true, scores: [{ name: 'sums_exact', value: 26 / 40 }] }]);
  });

  test('has its cases by filters, a page at a time', async () => {
    const wrong = await served.json<CasesPage>('/api/evaluations/sums/cases?outcome=wrong');
    expect([wrong.total, wrong.matching, wrong.cases.length]).toEqual([40, 14, 14]);
    const all = await served.json<CasesPage>('/api/evaluations/sums/cases?offset=30');
    expect(all.cases.map(({ id }) => id)).toEqual(
      Array.from({ length: 10 }, (_, index) => `sums-${index + 30}`),
    );
    const text = await served.json<CasesPage>('/api/evaluations/sums/cases?text=39 %2B 39');
    expect(text.cases.map(({ id, gold }) => [id, gold])).toEqual([['sums-39', '78']]);
    expect((await served.ask('/api/evaluations/sums/cases?outcome=so', { headers: bearer })).status).toBe(
      400,
    );
  });
});
