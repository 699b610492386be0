import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { readRunStates } from '../../src/comparison/finished-runs.ts';
import { armRuns, experimentOf } from '../../src/comparison/plan.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import { writeReport } from '../../src/report/write-report.ts';
import { ComparisonFolder, EvaluationFolder } from '../../src/runs/result-folders.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { sha256 } from '../../src/store/canonical-json.ts';
import type { CaseLine, EvaluationResults } from '../../src/types/evaluation-types.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import type { evaluationWorkflow as evaluation } from '../../src/workflows/evaluation.ts';
import type { experimentWorkflow as experiment } from '../../src/workflows/experiment.ts';
import { exampleExperiment, withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { reportData } from '../../test-support/report-data.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv, startGenenv } from '../cli/genenv-process.ts';

/** Evaluations on a real Temporal server and a real worker, of a model that costs nothing. */

const questions = JSON.parse(readFileSync(join(repository, 'data/bamboogle/bamboogle.json'), 'utf8')) as {
  Question: string;
  Answer: string;
}[];
/** Knows every second answer. */
const knowing = (messages: readonly { content: string }[]): string => {
  const prompt = messages.map(({ content }) => content).join('\n');
  const index = questions.findIndex(({ Question }) => prompt.includes(Question));
  return `<answer>${index % 2 === 0 ? questions[index]!.Answer : 'unknown'}</answer>`;
};

let stack: InstantStack;
let down = false;
beforeAll(async () => {
  stack = await InstantStack.start(exampleExperiment().world, {
    chat: (messages) => (down ? 503 : knowing(messages)),
  });
}, 120_000);
afterAll(() => stack[Symbol.asyncDispose](), 60_000);

const at = (...path: string[]): string => join(stack.home, ...path);
function writePretrainedModel(): { type: 'pretrained'; path: string } {
  const path = at('models/base');
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'weights.txt'), 'pretrained');
  return { type: 'pretrained', path };
}
const results = (id: string) =>
  JSON.parse(readFileSync(at('evaluations', id, 'results.json'), 'utf8')) as EvaluationResults;
const cases = (id: string): string => readFileSync(at('evaluations', id, 'cases.jsonl'), 'utf8');
const command = (...args: string[]) =>
  genenv([...args, '--address', stack.address], { GENENV_HOME: stack.home });
const file = () => ({
  name: 'any',
  policy: { type: 'served', baseUrl: stack.models.url, model: 'knowing' },
  suites: ['bamboogle_closedbook'],
  questionsPerRequest: 8,
  casesPerShard: 40,
  concurrency: 1,
  requestTimeoutSeconds: 2,
  heartbeatSeconds: 3,
});

test('an evaluation whose worker is killed in the middle ends with the same verdicts, and asks only what is missing', async () => {
  const { workflow } = stack.client;
  await workflow.execute<typeof evaluation>('evaluation', {
    args: [file()],
    workflowId: 'undisturbed',
    taskQueue: queues.workflows,
  });
  expect(results('undisturbed').suites).toMatchObject([
    { name: 'bamboogle_closedbook', cases: 125, questions: 125, correct: 63 },
  ]);
  expect(JSON.parse(cases('undisturbed').split('\n')[1]!)).toMatchObject({
    correct: false,
    question: expect.stringContaining(questions[1]!.Question) as string,
    gold: `<answer>${questions[1]!.Answer}</answer>`,
    answer: '<answer>unknown</answer>',
  });
  const before = stack.models.chats.length;
  expect(before).toBe(125);
  const handle = await workflow.start<typeof evaluation>('evaluation', {
    args: [file()],
    workflowId: 'disturbed',
    taskQueue: queues.workflows,
  });
  for (const killAfter of [20, 90]) {
    await until(() => stack.models.chats.length >= before + killAfter, 60_000, `${killAfter} questions`);
    await stack.killWorker();
  }
  const { scores } = await handle.result();
  expect(scores[0]).toMatchObject({ name: 'bamboogle_em_closedbook', value: 63 / 125, successes: 63 });
  expect(cases('disturbed')).toBe(cases('undisturbed'));
  // A kill costs the batch that was under way.
  expect(stack.models.chats.length - before).toBeLessThanOrEqual(125 + 2 * 8);
}, 180_000);

test('genenv evaluates, scores again without asking, and compares case by case', async () => {
  const options = ['--policy', 'knowing', '--base-url', stack.models.url, '--suite', 'bamboogle_closedbook'];
  const first = await command('evaluate', ...options, '--id', 'mine', '--against', 'undisturbed');
  expect(first, first.err).toMatchObject({ code: 0 });
  expect(first.out).toMatch(/^bamboogle_em_closedbook +50\.40 +41\.\d\d to 59\.\d\d +125/m);
  // Paired with itself: of 125 pairs none differs, so up to 2.98 % might.
  expect(first.out).toMatch(/^bamboogle_closedbook +125 +63 +0 +0 +62 +0\.00 +-2\.98 to 2\.98 +1\.00/m);
  const chats = stack.models.chats.length;
  const again = await command('rescore', 'mine');
  expect(again, again.err).toMatchObject({ code: 0 });
  expect(again.out).toMatch(/^bamboogle_em_closedbook +50\.40/m);
  expect(results('mine').judged).toBe(2);
  expect(stack.models.chats.length).toBe(chats);
  const key = await command(
    'evaluate',
    '--policy',
    'gold',
    '--suite',
    'bamboogle_closedbook',
    '--id',
    'key',
    '--limit',
    '10',
  );
  expect(key.out).toMatch(/^bamboogle_em_closedbook_first10 +100\.00/m);
  const better = await genenv(['paired', 'key', 'mine'], { GENENV_HOME: stack.home });
  expect(better.out).toMatch(/^bamboogle_closedbook +10 +5 +5 +0 +0 +50\.00/m);
}, 180_000);

test('a server that is away is named while an evaluation is followed, and by status; its end is a page', async () => {
  down = true;
  const options = ['--policy', 'knowing', '--base-url', stack.models.url, '--suite', 'bamboogle_closedbook'];
  const args = ['evaluate', ...options, '--limit', '10', '--id', 'waiting', '--address', stack.address];
  const { ended, out } = startGenenv(args, { GENENV_HOME: stack.home });
  try {
    await until(
      () => /^waiting for http\S+: answered 503/m.test(out()),
      90_000,
      'a line that says what it waits for',
    );
    const { out: detail } = await command('status', 'waiting');
    expect(detail).toMatch(
      /^state +running\nprogress +waiting for http\S+: answered 503.*; asking: 0 of 1 shards answered/m,
    );
    const all = JSON.parse((await command('status', '--json')).out) as { kind: string; id: string }[];
    expect(all).toContainEqual(
      expect.objectContaining({ kind: 'evaluation', id: 'waiting', state: 'running' }),
    );
  } finally {
    down = false;
  }
  const { code, out: printed } = await ended;
  expect(code).toBe(0);
  expect(printed).toMatch(/^no longer waiting for http/m);
  const page = at('evaluations/waiting/report.html');
  expect(printed).toContain(`Page: ${page}\n`);
  expect(readFileSync(page, 'utf8')).toContain('"total":10,"correct":5,');
  expect((await command('status', 'waiting')).out).toMatch(
    /^state +finished\nprogress +5 of 10 right, 1 suite$/m,
  );
}, 180_000);

test('genenv evaluate refuses what it cannot do, and skips what is not here', async () => {
  expect(await command('evaluate', '--suite', 'bamboogle_closedbook')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--policy: missing') as string,
  });
  expect(await command('evaluate', '--policy', 'gold')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--suite: missing') as string,
  });
  const unknown = await command('evaluate', '--policy', 'gold', '--suite', 'bamboogle_closed');
  expect(unknown, unknown.out).toMatchObject({
    code: 2,
    err: expect.stringContaining('did you mean "bamboogle_closedbook"?') as string,
  });
  const alone = await command(
    'evaluate',
    '--policy',
    'gold',
    '--suite',
    'bamboogle_closedbook',
    '--against',
    'nobody',
  );
  expect(alone).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('got "nobody"; there is none') as string,
  });
  const searching = await command('evaluate', '--policy', 'gold', '--suite', 'bamboogle_search');
  expect(searching.err).toContain('search: got null');
  const missing = await genenv(
    [
      'evaluate',
      '--policy',
      'gold',
      '--suite',
      'travelplanner_validation_soleplanning,bamboogle_closedbook',
      '--id',
      'partly',
      '--address',
      stack.address,
    ],
    { GENENV_HOME: stack.home },
  );
  expect(missing, missing.err).toMatchObject({ code: 0 });
  expect(missing.out).toMatch(
    /skipped travelplanner_validation_soleplanning: [^]*Download\s+validation\.csv/,
  );
  expect(missing.out).toMatch(/^bamboogle_em_closedbook +100\.00/m);
  expect((await genenv(['suites'], { GENENV_HOME: stack.home })).out).toMatch(/^bamboogle_closedbook +125/m);
}, 180_000);

test('an experiment evaluates its agent every so many epochs, its report draws it, and a benchmark that fails stops nothing', async () => {
  const benchmarks = {
    every: 2,
    initial: true,
    suites: ['bamboogle_closedbook'],
    limit: 10,
    maxAttempts: 1,
  };
  const written = withFields(tinyExperiment(), {
    'evaluation.benchmarks': benchmarks,
    'durability.maxOutageSeconds': 1,
    'agent.model': writePretrainedModel(),
    name: 'evaluated',
  });
  const { workflow } = stack.client;
  const run = (id: string) =>
    workflow.execute<typeof experiment>('experiment', {
      args: [written],
      workflowId: id,
      taskQueue: queues.workflows,
    });
  expect(await run('evaluated')).toMatchObject({ outcome: 'finished', epochs: 3 });
  const lines = readFileSync(at('runs/evaluated/ledger.jsonl'), 'utf8').trim().split('\n');
  const made = results(`evaluated.epoch-0003-${sha256(lines.at(-1)!).slice(0, 8)}`);
  expect(made).toMatchObject({
    policy: {
      type: 'run',
      run: 'evaluated',
      epoch: 3,
      version: { name: expect.stringContaining('agent') as string },
    },
    // eslint-disable-next-line id-denylist -- a field of scores.json
    suites: [{ correct: 5, whole: false }],
  });
  expect(
    cases(made.id)
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as CaseLine).correct),
  ).toEqual(Array.from({ length: 10 }, (_, index) => index % 2 === 0));
  // The agent that it begins with, then that of epochs 2 and 3.
  const evaluated = readdirSync(at('evaluations')).filter((id) => id.startsWith('evaluated.epoch-'));
  expect(evaluated.map((id) => id.slice(0, 20)).sort()).toEqual([
    'evaluated.epoch-0000',
    'evaluated.epoch-0002',
    'evaluated.epoch-0003',
  ]);
  const report = readFileSync(await writeReport({ home: stack.home, runId: 'evaluated' }), 'utf8');
  const charts = reportData(report).view.figures.flatMap((section) => section.charts);
  expect(JSON.stringify(charts.find(({ id }) => id === 'benchmarks'))).toContain(
    'bamboogle_em_closedbook_first10',
  );
  down = true;
  expect(await run('unevaluated')).toMatchObject({ outcome: 'finished', epochs: 3 });
  const { notes } = await workflow.getHandle('unevaluated').query<{ notes: string[] }>('progress');
  expect(
    notes.filter((note) => note.includes('could not be evaluated on benchmarks: ') && note.includes('503')),
  ).toHaveLength(3);
  // Evaluations leave no trace in the ledger.
  expect(readFileSync(at('runs/unevaluated/ledger.jsonl'), 'utf8')).toBe(
    readFileSync(at('runs/evaluated/ledger.jsonl'), 'utf8'),
  );
  expect(existsSync(at('runs/unevaluated/report.html'))).toBe(false);
}, 180_000);

test('an evaluation that somebody cancels is a note of its run', async () => {
  const id = 'uncancelled';
  const written = withFields(tinyExperiment({ epochs: 1 }), {
    'evaluation.benchmarks': { every: 1, suites: ['bamboogle_closedbook'], limit: 10 },
    'agent.model': writePretrainedModel(),
  });
  const { workflow } = stack.client;
  down = true;
  const run = await workflow.start<typeof experiment>('experiment', {
    args: [written],
    workflowId: id,
    taskQueue: queues.workflows,
  });
  const line = (): string =>
    readFileSync(at(`runs/${id}/ledger.jsonl`), 'utf8')
      .trim()
      .split('\n')
      .at(1) ?? '';
  await until(() => existsSync(at(`runs/${id}/ledger.jsonl`)) && line() !== '', 90_000, 'epoch 1');
  const evaluation = workflow.getHandle(`${id}.epoch-0001-${sha256(line()).slice(0, 8)}`);
  await until(
    () =>
      evaluation.cancel().then(
        () => true,
        () => false,
      ),
    60_000,
    'the evaluation',
  );
  expect(await run.result()).toMatchObject({ outcome: 'finished', epochs: 1 });
  const { notes } = await run.query<{ notes: string[] }>('progress');
  expect(notes).toContain('epoch 1: it could not be evaluated on benchmarks: it was cancelled');
}, 180_000);

test('a comparison has the scores of its runs, before the first epoch and after the last', async () => {
  down = false;
  const benchmarks = { every: 2, suites: ['bamboogle_closedbook'], limit: 10 };
  const written = withFields(tinyExperiment({ epochs: 2 }), {
    'evaluation.benchmarks': benchmarks,
    'agent.model': writePretrainedModel(),
  });
  const arms = {
    tuned: { evaluation: { benchmarks: { initial: true } } },
    random: { arm: { type: 'random' }, environment: { training: null } },
  };
  const plan = parseComparison(
    tinyComparison({ seeds: [1], experiment: written, arms, crossPlay: undefined, probes: undefined }),
  );
  for (const run of armRuns('transfer', plan))
    await stack.client.workflow.execute<typeof experiment>('experiment', {
      args: [experimentOf(plan, run)],
      workflowId: run.id,
      taskQueue: queues.workflows,
    });
  const states = await readRunStates(
    {
      runFolder: (id) => new RunFolder(at('runs'), id),
      comparisonFolder: (id) => new ComparisonFolder(at('comparisons'), id),
      evaluationFolder: (id) => new EvaluationFolder(at('evaluations'), id),
    },
    'transfer',
    plan,
  );
  const suite = 'benchmark/bamboogle_em_closedbook_first10';
  expect(states.map(({ finished }) => finished?.metrics[suite])).toEqual([
    [0.5, null, 0.5],
    [null, null, 0.5],
  ]);
}, 180_000);
