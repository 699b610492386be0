import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEXT_COLUMNS } from '../../src/cli/lib/text.ts';
import type { WorkStatus } from '../../src/cli/lib/work-status.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import { parseEvaluation } from '../../src/config/evaluation.ts';
import { ComparisonFolder, EvaluationFolder, NightlyFolder } from '../../src/runs/result-folders.ts';
import type { NightRecord } from '../../src/types/nightly-types.ts';
import { exampleFile } from '../../test-support/experiments.ts';
import { makeRun } from '../report/make-run.ts';
import { makeEvaluation } from '../evaluation/make-evaluation.ts';
import { someCases } from '../report/some-evaluation-view.ts';
import { genenv } from './genenv-process.ts';

const LONG = `long.epoch-0040-${'e'.repeat(52)}`;

const night = (changes: Partial<NightRecord>): NightRecord => ({
  night: 1,
  outcome: 'kept',
  reason: 'not worse',
  standing: null,
  candidate: null,
  test: null,
  time: '2026-11-20T02:30:00.000Z',
  ...changes,
});

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'genenv-work-'));
  const evaluation = (id: string) => new EvaluationFolder(join(home, 'evaluations'), id);
  const file = (name: string) =>
    parseEvaluation({ name, suites: ['bamboogle_closedbook'], policy: { type: 'gold' } });
  await evaluation('half').write(file('half'));
  for (const id of ['done', LONG]) await makeEvaluation(home, id, someCases('sums', 9));
  await mkdir(evaluation('torn').path);
  await writeFile(evaluation('torn').resultsFile, '{');
  const comparison = parseComparison({
    name: 'c',
    seeds: [1, 2],
    experiment: exampleFile,
    arms: { a: {}, b: {} },
    baseline: 'a',
  });
  for (const id of ['whole', 'begun'])
    await new ComparisonFolder(join(home, 'comparisons'), id).write(comparison);
  await writeFile(join(home, 'comparisons/whole/summary.json'), '{}');
  const nights = new NightlyFolder(join(home, 'nightly'), 'laptop');
  await nights.close(night({}));
  await nights.note(night({ night: 2, outcome: 'failed', reason: 'its trainer was lost' }));
  await new NightlyFolder(join(home, 'nightly'), 'other').close(night({ outcome: 'promoted' }));
  await makeRun({ home, runId: 'other-night-0002', epochs: 2, planned: 5 });
});
afterAll(() => rm(home, { recursive: true, force: true }));

const status = (...args: string[]) => genenv(['status', ...args], { GENENV_HOME: home });

test('status lists evaluations, comparisons and nights with the command that resumes or shows them', async () => {
  const { out, code, err } = await status();
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d`;
  for (const row of [
    `done +finished +6 of 9 right, 1 suite +${time}\n  npx genenv report done`,
    `half +interrupted +answers are kept +${time}\n  npx genenv (evaluate \\S+/half/evaluation.json --id half|status half)`,
    `torn +unreadable +– *\n  npx genenv status torn`,
    `begun +interrupted +0 of 4 runs finished here +${time}\n  npx genenv compare FILE --id begun`,
    `whole +finished +0 of 4 runs finished here +${time}\n  npx genenv report whole`,
    `laptop-night-0001 +kept +not worse +2026-11-20 02:30\n  npx genenv report laptop-night-0001`,
    `laptop-night-0002 +failed +its trainer was lost +2026-11-20 02:30\n  npx genenv schedule trigger laptop`,
    `other-night-0001 +promoted `,
    `other-night-0002 +interrupted +epoch 2 of 5 +– *\n  npx genenv schedule trigger other`,
  ])
    expect(out).toMatch(new RegExp(`^${row}`, 'm'));
  for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(TEXT_COLUMNS);
});

test('status --json has all of them, each with its kind and whole command', async () => {
  const all = JSON.parse((await status('--json')).out) as (Omit<WorkStatus, 'kind'> & { kind: string })[];
  const kinds = Map.groupBy(all, ({ kind }) => kind);
  expect([...kinds].map(([kind, items]) => [kind, items.length])).toEqual([
    ['run', 1],
    ['evaluation', 4],
    ['comparison', 2],
    ['night', 4],
  ]);
  expect(all.find(({ id }) => id === 'half')).toMatchObject({
    state: 'interrupted',
    command: `npx genenv evaluate ${join(home, 'evaluations/half/evaluation.json')} --id half`,
  });
  expect(all.find(({ id }) => id === 'torn')!.problem).toContain('not JSON');
});

test('status NAME shows an evaluation with its scores, and a comparison', async () => {
  const evaluation = (await status('done')).out;
  expect(evaluation).toMatch(/^evaluation +done\nstate +finished\nprogress +6 of 9 right, 1 suite/);
  expect(evaluation).toMatch(/^to see it +npx genenv report done$/m);
  expect(evaluation).toMatch(/^sums_exact +66\.67 +35\.42 to 87\.94 +9/m);
  expect((await status('half')).out).toMatch(
    /^to resume +npx genenv evaluate \S+\/half\/evaluation\.json --id half$/m,
  );
  expect((await status('torn')).out).toMatch(/^problem +Invalid artifact \S+: not JSON\. Remove it/m);
  expect((await status('begun')).out).toMatch(/^comparison +begun\nstate +interrupted\n/);
  expect(JSON.parse((await status('whole', '--json')).out)).toMatchObject({
    kind: 'comparison',
    id: 'whole',
  });
  const unknown = await status('nobody');
  expect(unknown).toMatchObject({ code: 2, out: '' });
});

test('report writes the page of an evaluation, and paired one of two', async () => {
  const run = (...args: string[]) => genenv(args, { GENENV_HOME: home });
  const { out, err } = await run('report', 'done');
  expect({ out, err }).toEqual({ out: `${join(home, 'evaluations/done/report.html')}\n`, err: '' });
  const html = join(home, 'paired.html');
  const paired = await run('paired', 'done', LONG, '--html', html);
  expect(paired.err).toBe('');
  expect(paired.out).toMatch(/^sums +9 +6 +0 +0 +3 +0\.00 /m);
  expect(paired.out).toContain(`Page: ${html}\n`);
  await writeFile(join(home, 'evaluations/done/cases.jsonl'), '{"suite":"sums"}\n');
  expect(await run('paired', 'done', LONG)).toMatchObject({
    code: 2,
    err: expect.stringContaining('cases.jsonl: line 1 is no case of an evaluation') as string,
  });
});
