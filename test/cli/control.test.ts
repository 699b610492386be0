import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { startExperiment } from '../../src/cli/lib/start-experiment.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv, startGenenv } from './genenv-process.ts';

/**
 * Each verb on a real server, by the genenv command and by the plain Temporal line that docs/operating.md
 * gives for it.
 */
const id = 'my-run';
const MINUTES = 60_000;
let stack: LiveStack;
let folder: string;

beforeAll(async () => {
  stack = await LiveStack.start();
  await stack.startWorker();
  folder = join(stack.home, 'elsewhere');
  mkdirSync(folder);
  symlinkSync(stack.home, join(folder, '.genenv'));
  await stack.startRun(id, tinyExperiment({ epochs: 60 }));
  await until(() => entries(id).length > 2, 8 * MINUTES, 'epoch 2');
}, 9 * MINUTES);
afterAll(async () => stack[Symbol.asyncDispose](), MINUTES);

const environment = () => ({ GENENV_HOME: stack.home, TEMPORAL_ADDRESS: stack.address });
const say = (...args: string[]) => genenv(args, environment());
const entries = (run: string): LedgerEntry[] =>
  existsSync(stack.run(run).ledgerFile) ? stack.entries(run) : [];
const describeWorkflow = (run = id) => stack.client.workflow.getHandle(run).describe();
const waitForEnd = (run = id) =>
  until(
    async () => (await describeWorkflow(run)).status.name !== 'RUNNING',
    2 * MINUTES,
    `the end of ${run}`,
  );
const state = async () =>
  JSON.parse((await say('status', id, '--json')).out) as {
    state: string;
    resumeCommand: string | null;
    retunes: unknown[];
  };

describe('genenv', () => {
  test(
    'pause, retune, resume and stop ask the running workflow, and say what happens next',
    async () => {
      expect(await say('pause', id)).toEqual({
        code: 0,
        err: '',
        out: `${id} is paused. The phase under way continues to its end.\nTo resume: npx genenv resume ${id}\n`,
      });
      expect(await state()).toMatchObject({ state: 'paused', resumeCommand: `npx genenv resume ${id}` });
      const retuned = JSON.parse((await say('retune', id, 'difficulty.alpha=0.4', '--json')).out) as {
        fromEpoch: number;
        settings: Record<string, number>;
      };
      expect(retuned.settings['difficulty.alpha']).toBe(0.4);
      expect((await state()).retunes).toMatchObject([
        { fromEpoch: retuned.fromEpoch, set: { 'difficulty.alpha': 0.4 } },
      ]);
      expect(await say('retune', id, 'difficulty.alpha=7')).toMatchObject({
        code: 2,
        err: expect.stringContaining(`genenv: ${id}: experiment: difficulty.alpha: got 7`) as string,
      });
      expect(await say('rewind', id, '--epoch', '1')).toMatchObject({
        code: 1,
        err: expect.stringContaining('is running: end it first') as string,
      });
      expect(await say('resume', id)).toMatchObject({ code: 0, out: `${id} continues.\n` });
      expect(await say('resume', id)).toMatchObject({
        code: 1,
        err: `genenv: ${id}: resume: the experiment is not paused\n`,
      });
      await until(
        () => entries(id).some(({ epoch }) => epoch === retuned.fromEpoch),
        MINUTES,
        'the retuned epoch',
      );
      const settings = entries(id).map(
        ({ epoch, inputs }) =>
          inputs.settings['difficulty.alpha'] === (epoch < retuned.fromEpoch ? 0.5 : 0.4),
      );
      expect(settings).not.toContain(false);
      expect((await say('stop', id)).out).toBe(
        `${id} stops after the epoch under way.\nTo resume after that: npx genenv resume ${id}\n`,
      );
      await waitForEnd();
      expect(await state()).toMatchObject({ state: 'stopped', resumeCommand: `npx genenv resume ${id}` });
    },
    4 * MINUTES,
  );

  test(
    'what does not run is not asked, and what is not there is named',
    async () => {
      expect(await say('pause', id)).toMatchObject({
        code: 1,
        err: `genenv: ${id} is not running; \`npx genenv resume ${id}\` starts it again from its last epoch\n`,
      });
      expect(await say('stop', 'nobody')).toMatchObject({
        code: 2,
        err: expect.stringContaining(`has no such run; there are: ${id}`) as string,
      });
      expect(
        await genenv(['pause', id], { ...environment(), TEMPORAL_ADDRESS: '127.0.0.1:9' }),
      ).toMatchObject({
        code: 1,
        err: expect.stringContaining('127.0.0.1:9 cannot be used: nothing listens there') as string,
      });
    },
    MINUTES,
  );

  test(
    'rewind goes back, resume starts it again and follows it, cancel ends it',
    async () => {
      const rewound = await say('rewind', id, '--epoch', '1', '--set', 'difficulty.alpha=0.45');
      expect(rewound.out).toMatch(
        /^my-run is at epoch 1; \d+ epochs after it kept in .*0001\.\nFrom epoch 2 on: difficulty\.alpha=0\.45\n/,
      );
      expect(entries(id)).toHaveLength(2);
      const follower = startGenenv(['resume', id], environment());
      await until(() => entries(id).length > 2, MINUTES, 'epoch 2, again');
      expect(entries(id)[2]?.inputs.settings['difficulty.alpha']).toBe(0.45);
      expect((await say('cancel', id)).out).toBe(
        `${id} is being cancelled: what is under way is saved, then it ends.\nTo resume after that: npx genenv resume ${id}\n`,
      );
      expect(await follower.ended).toMatchObject({
        code: 3,
        err: expect.stringContaining(`${id} was cancelled`) as string,
      });
      expect((await describeWorkflow()).status.name).toBe('CANCELLED');
      expect(await state()).toMatchObject({ state: 'cancelled', resumeCommand: `npx genenv resume ${id}` });
    },
    4 * MINUTES,
  );

  test(
    'fork starts another run from an epoch, and follows it to its end',
    async () => {
      const { code, out, err } = await say(
        'fork',
        id,
        '--epoch',
        '1',
        '--set',
        'epochs=2',
        '--set',
        'difficulty.alpha=0.3',
      );
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain(`${id}-fork-1: finished after 2 epochs`);
      const [line, ...more] = entries(`${id}-fork-1`);
      expect(more).toEqual([]);
      expect(line).toMatchObject({
        epoch: 2,
        previous: hashOf(entries(id)[1]),
        inputs: { settings: { 'difficulty.alpha': 0.3 } },
      });
      expect((await say('status', `${id}-fork-1`)).out).toMatch(/^lineage +forked from my-run at epoch 1$/m);
    },
    4 * MINUTES,
  );
});

describe('the Temporal lines of docs/operating.md', () => {
  const rows = readFileSync(join(repository, 'docs/operating.md'), 'utf8')
    .split('\n')
    .map((line) =>
      line.split(' | ').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)),
    );
  /** The Temporal lines next to a genenv line. */
  const temporalLines = (line: string): string[] =>
    rows.filter(([first]) => first?.length === 1 && first[0] === line).flatMap(([, second]) => second ?? []);
  /** As a person types it, in the folder of the home folder. */
  const shell = (line: string) =>
    promisify(execFile)(
      'bash',
      ['-c', `genenv() { "${process.execPath}" "${join(repository, 'src/cli/genenv.ts')}" "$@"; }\n${line}`],
      {
        cwd: folder,
        env: {
          ...process.env,
          PATH: `${dirname(temporalPath())}:${process.env.PATH ?? ''}`,
          TEMPORAL_ADDRESS: stack.address,
        },
      },
    );
  const progress = async () =>
    (await stack.client.workflow.getHandle(id).query<{ status: string }>('progress')).status;

  test(
    'work as they are written',
    async () => {
      const [resume, start] = temporalLines('genenv resume my-run');
      await shell(start!);
      await shell(temporalLines('genenv pause my-run')[0]!);
      expect(await progress()).toBe('paused');
      const retuned = await shell(
        `${temporalLines('genenv retune my-run difficulty.alpha=0.4')[0]!} --output json`,
      );
      expect(retuned.stdout).toMatch(/"difficulty\.alpha":\s*0\.4/);
      await shell(resume!);
      expect(['preparing', 'running']).toContain(await progress());
      await shell(temporalLines('genenv stop my-run')[0]!);
      await waitForEnd();
      expect((await stack.client.workflow.getHandle(id).result()) as object).toMatchObject({
        outcome: 'stopped',
      });
      await shell(start!);
      await shell(temporalLines('genenv cancel my-run')[0]!);
      await waitForEnd();
      expect((await describeWorkflow()).status.name).toBe('CANCELLED');
    },
    4 * MINUTES,
  );

  test(
    'start what genenv fork --print wrote',
    async () => {
      const [print, begin] = temporalLines('genenv fork my-run --epoch 2');
      await shell(print!);
      const file = join(folder, 'other.json');
      const fork = JSON.parse(readFileSync(file, 'utf8')) as { startFrom: unknown };
      expect(fork.startFrom).toEqual({ run: id, epoch: 2 });
      writeFileSync(file, JSON.stringify({ ...fork, epochs: 3 }));
      await shell(begin!);
      await waitForEnd('other');
      expect(entries('other')).toMatchObject([{ epoch: 3, previous: hashOf(entries(id)[2]) }]);
    },
    4 * MINUTES,
  );
});

test(
  'a workflow that knows nothing of a rewind is ended where its run is started again',
  async () => {
    const raw = tinyExperiment();
    const start = (rewoundAt: Date | null) =>
      startExperiment(stack.client, {
        ...{ id: 'rewound', raw, experiment: parseExperiment(raw), rewoundAt },
        dashboard: 'http://127.0.0.1:7244',
      });
    expect((await start(null)).attached).toBe(false);
    const { runId, staticDetails } = await describeWorkflow('rewound');
    expect(await staticDetails()).toBe('[Dashboard](http://127.0.0.1:7244/#/runs/rewound)');
    expect((await start(new Date(Date.now() - MINUTES))).attached).toBe(true);
    expect((await start(new Date(Date.now() + MINUTES))).attached).toBe(false);
    expect((await stack.client.workflow.getHandle('rewound', runId).describe()).status.name).toBe(
      'TERMINATED',
    );
    await stack.client.workflow.getHandle('rewound').terminate();
  },
  MINUTES,
);

test(
  'resume continues on a server that knows nothing of the run',
  async () => {
    const before = entries('other');
    await Promise.all(stack.workers.map((worker) => worker.stop()));
    await stack.temporal.stop('SIGKILL');
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(stack.home, `temporal.db${suffix}`), { force: true });
    stack.startTemporal();
    await stack.connect();
    await stack.startWorker();
    expect((await say('rewind', 'other', '--epoch', '2')).out).toContain(
      'other is at epoch 2; 1 epoch after it kept in',
    );
    expect(await say('resume', 'other')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('other: finished after 3 epochs') as string,
    });
    expect(entries('other')).toEqual(before);
  },
  6 * MINUTES,
);
