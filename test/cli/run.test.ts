import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leftovers } from '../../src/dev-stack/leftovers.ts';
import { readStackRecord, stackPaths } from '../../src/dev-stack/record.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv, startGenenv } from './genenv-process.ts';

// The real stack: Temporal, policy server, trainer and worker, with two real models. Kills and Ctrl-C:
// test/e2e/restart.long.test.ts.
const MINUTES = 60_000;
let home: string;
let file: string;
let umask: number;
beforeAll(() => {
  // What most machines have: everybody reads new files, and this home, which an earlier version made.
  umask = process.umask(0o022);
  home = mkdtempSync(join(tmpdir(), 'genenv-run-'));
  chmodSync(home, 0o755);
  file = join(home, 'tiny.json');
  writeFileSync(file, JSON.stringify(tinyExperiment()), { mode: 0o600 });
});
afterAll(() => {
  process.umask(umask);
  for (const { pid } of leftovers(home, readStackRecord(stackPaths(home).record)))
    process.kill(pid, 'SIGKILL');
  rmSync(home, { recursive: true, force: true });
});
const stackOf = () => readStackRecord(stackPaths(home).record);

/** The home and all that is in it, with the permissions of each; links have none of their own. */
function modesInHome(): { name: string; mode: number }[] {
  const names = ['.', ...readdirSync(home, { recursive: true, encoding: 'utf8' })];
  return names.flatMap((name) => {
    // A file may go while its folder is read: the stack runs.
    const stats = lstatSync(join(home, name), { throwIfNoEntry: false });
    return stats === undefined || stats.isSymbolicLink() ? [] : [{ name, mode: stats.mode & 0o777 }];
  });
}

test(
  'up leaves a stack running; run continues in it to its end; down ends it',
  { timeout: 6 * MINUTES },
  async () => {
    const environment = { GENENV_HOME: home };
    const up = await genenv(['up'], environment);
    expect(up).toMatchObject({ code: 0, err: '' });
    expect(up.out).toMatch(/^Temporal {6}127\.0\.0\.1:\d+$/m);
    const { addresses } = stackOf();

    const run = await genenv(['run', file], environment);
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(run.out).toContain('Using the stack of `genenv up`');
    expect(run.out).toContain('epoch 3/3');
    expect(run.out).toMatch(/^tiny: finished after 3 epochs; ledger [0-9a-f]{12}$/m);
    expect(run.out).toMatch(/^epochs +success +in band/m);
    expect(run.out).toContain(`Report: ${join(home, 'runs/tiny/report.html')}`);
    expect(existsSync(join(home, 'runs/tiny/report.html'))).toBe(true);
    expect(readFileSync(join(home, 'runs/tiny/ledger.jsonl'), 'utf8').trim().split('\n')).toHaveLength(4);
    expect((await genenv(['verify', 'tiny'], environment)).code).toBe(0);
    expect(stackOf()).toMatchObject({ state: 'ready', addresses });

    const doctor = await genenv(['doctor'], environment);
    expect(doctor.out).toMatch(
      new RegExp(`^ok +Temporal server +${addresses?.temporal ?? ''}, namespace default`, 'm'),
    );
    expect(doctor.out).toMatch(/^ok +Policy server /m);
    expect(doctor.code).toBe(0);

    const modes = modesInHome();
    const down = await genenv(['down'], environment);
    expect(down.out).toMatch(/Stopping `genenv up` \(process \d+\) and its stack \.\.\.\nStopped\.\n/);
    expect(down.code).toBe(0);
    expect(leftovers(home, stackOf())).toEqual([]);

    expect(modes.filter(({ mode }) => (mode & 0o077) !== 0)).toEqual([]);
    const places = ['stack/logs/temporal.log', 'stack/temporal.db', 'runs/tiny/report.html', 'store/objects'];
    expect(modes.map(({ name }) => name)).toEqual(expect.arrayContaining(places));
  },
);

test(
  'run --only leaves a run that was interrupted as it is; resume continues it',
  { timeout: 8 * MINUTES },
  async () => {
    const environment = { GENENV_HOME: home };
    const epochsOf = (id: string): number => {
      const ledger = join(home, 'runs', id, 'ledger.jsonl');
      return existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n').length : 0;
    };
    const left = startGenenv(['run', file, '--id', 'left'], environment);
    await until(() => epochsOf('left') >= 1, 4 * MINUTES, 'its preparation');
    // The dashboard is served while it runs.
    const [, address = ''] = /^Dashboard: (\S+)#\/runs\/left$/m.exec(left.out()) ?? [];
    const { origin, searchParams } = new URL(address);
    const authorization = `Bearer ${searchParams.get('token')}`;
    const page = await fetch(`${origin}/api/runs/left`, { headers: { authorization } });
    expect(await page.json()).toMatchObject({ view: { runId: 'left' }, live: { state: 'running' } });
    left.child.kill('SIGINT');
    expect(await left.ended).toMatchObject({ code: 130 });
    const before = epochsOf('left');

    const short = join(home, 'short.json');
    writeFileSync(short, JSON.stringify({ ...tinyExperiment(), name: 'short', epochs: 1 }));
    const only = await genenv(['run', short, '--only'], environment);
    expect(only).toMatchObject({ code: 0, err: '' });
    expect(only.out).toContain(
      'Interrupted earlier and left as they are: left (continued by npx genenv resume left)',
    );
    expect(only.out).toMatch(/^short: finished after 1 epochs/m);
    expect(epochsOf('left')).toBe(before);
    expect((await genenv(['status', 'left'], environment)).out).toMatch(/to resume: npx genenv resume left/);

    const resumed = await genenv(['resume', 'left'], environment);
    expect(resumed).toMatchObject({ code: 0, err: '' });
    expect(resumed.out).toMatch(/^left: finished after 3 epochs/m);
  },
);

test('--only is refused where this command does not run the stack', async () => {
  const { code, err } = await genenv(['run', file, '--id', 'other', '--only', '--address', '127.0.0.1:9'], {
    GENENV_HOME: home,
  });
  expect([code, err]).toEqual([
    2,
    'genenv: --only: the server at 127.0.0.1:9 is not of this command, which ends no runs there; `npx genenv cancel` ends one\n',
  ]);
});
