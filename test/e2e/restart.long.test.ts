import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { TestProcess, until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * What `npm start` does, killed with SIGKILL and started again: the command alone (its processes are taken
 * over), or all of its processes at once, as when the machine goes down. Set GENENV_CHAOS=1 to kill it in
 * every phase.
 */

const root = mkdtempSync(join(tmpdir(), 'genenv-restart-'));
const file = join(root, 'tiny.json');
const ledger = (home: string): string => readFileSync(join(home, 'runs', 'tiny', 'ledger.jsonl'), 'utf8');
let undisturbed: string;

const run = (home: string): TestProcess =>
  new TestProcess(process.execPath, [join(repository, 'src/cli/genenv.ts'), 'run', file], {
    env: { ...process.env, GENENV_HOME: home },
    cwd: root,
    log: join(root, 'genenv.log'),
  });

async function finish(home: string): Promise<string> {
  const command = run(home);
  const code = await command.exited;
  expect(code, command.output).toBe(0);
  return command.output;
}

const stackProcesses = (home: string): number[] => {
  const { processes } = JSON.parse(readFileSync(join(home, 'stack', 'stack.json'), 'utf8')) as {
    processes: Record<string, { pid: number }>;
  };
  return Object.values(processes).map(({ pid }) => pid);
};

/** Running, or not yet taken note of by the process that inherits it, which may take a moment. */
const alive = (pid: number): boolean => existsSync(`/proc/${pid}`);
const allGone = (pids: readonly number[]): Promise<void> =>
  until(() => !pids.some(alive), 5_000, `the end of ${pids.filter(alive).join(', ')}`);

beforeAll(async () => {
  writeFileSync(file, JSON.stringify(tinyExperiment()));
  const home = join(root, 'undisturbed');
  await finish(home);
  undisturbed = ledger(home);
}, 240_000);
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

// The phase is over when its key is there: what is killed is the one that follows it.
const moments: [phase: string, after: string, what: 'command' | 'everything'][] = [
  ['roll out', 'draw', 'everything'],
  ['train agent', 'pools', 'command'],
  ['generate', '', 'command'],
  ['reward', 'roll-out', 'command'],
  ['filter', 'reward', 'everything'],
  ['train environment', 'train-agent', 'everything'],
  ['commit', 'train-environment', 'everything'],
];

test.each(process.env.GENENV_CHAOS === '1' ? moments : moments.slice(0, 2))(
  'killed in %s (after %s: %s) it continues and ends byte-identical, and leaves no process',
  async (phase, after, what) => {
    const home = join(root, phase.replaceAll(' ', '-'));
    const doomed = run(home);
    const key =
      after === ''
        ? join(home, 'store', 'keys', 'tiny', '0001', 'train-environment')
        : join(home, 'store', 'keys', 'tiny', '0002', after);
    await until(
      () => {
        if (!doomed.alive) throw new Error(`it ended before ${phase}:\n${doomed.output}`);
        return existsSync(key);
      },
      180_000,
      key,
    );
    const processes = stackProcesses(home);
    doomed.signal('SIGKILL');
    if (what === 'everything') for (const pid of processes) process.kill(-pid, 'SIGKILL');
    await doomed.exited;
    await finish(home);
    expect(ledger(home)).toBe(undisturbed);
    await allGone([...processes, ...stackProcesses(home)]);
  },
  240_000,
);

test('Ctrl-C stops it cleanly with exit code 130; started again it continues, and then says that it is finished', async () => {
  const home = join(root, 'interrupted');
  const interrupted = run(home);
  await until(() => existsSync(join(home, 'store', 'keys', 'tiny', '0001', 'draw')), 180_000, 'epoch 1');
  const processes = stackProcesses(home);
  interrupted.signal('SIGINT');
  expect(await interrupted.exited, interrupted.output).toBe(130);
  await allGone(processes);
  await finish(home);
  expect(ledger(home)).toBe(undisturbed);
  const again = await finish(home);
  expect(again).toMatch(/finished/);
  expect(again).toContain('--id');
  for (const name of ['report.html', 'metrics.jsonl'])
    expect(existsSync(join(home, 'runs', 'tiny', name))).toBe(true);
  expect(readdirSync(join(home, 'runs', 'tiny', 'tensorboard')).length).toBeGreaterThan(0);
}, 240_000);
