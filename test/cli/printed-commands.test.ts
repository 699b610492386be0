import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowNotFoundError } from '@temporalio/client';
import { beforeEach, expect, test, vi } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from '../tracking/growing-run.ts';

const server = ['--address', 'far:7233', '--namespace', 'team'];
const flags = server.join(' ');

/** A server on which the run is in this state, and refuses or answers updates. */
const answers = { status: 'RUNNING', update: (): unknown => ({ paused: true, stopAfterEpoch: false }) };
vi.mock(import('../../src/cli/lib/session.ts'), async (original) => ({
  ...(await original()),
  connectIfReachable: () =>
    Promise.resolve({
      connection: { close: () => Promise.resolve() },
      options: { namespace: 'team' },
      withDeadline: (_: number, ask: () => unknown) => ask(),
      workflow: {
        list: () => [][Symbol.iterator](),
        getHandle: (workflowId: string) => ({
          workflowId,
          describe: () => Promise.resolve({ status: { name: answers.status } }),
          query: () => Promise.reject(new Error('no worker')),
          executeUpdate: () => new Promise((resolve) => resolve(answers.update())),
          cancel: () => Promise.resolve(),
        }),
      },
      schedule: {
        list: () => [][Symbol.iterator](),
        getHandle: () => ({ pause: () => Promise.resolve() }),
        create: () => Promise.resolve(),
      },
    } as never),
}));

// Its policies are not stored.
vi.mock(import('../../src/runs/rewind.ts'), async (original) => ({
  ...(await original()),
  rewindFolder: () => Promise.resolve({ epoch: 0, dropped: 1, branch: 'branches/0001' }),
}));

let home: string;
let run: GrowingRun;
beforeEach(async () => {
  Object.assign(answers, { status: 'RUNNING', update: () => ({ paused: true, stopAfterEpoch: false }) });
  home = await temporaryFolder();
  run = await GrowingRun.start(home, 'laptop');
  await run.commitTo(1);
});

/** What a command prints on that server, or why it fails. */
async function say(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const context = {
    env: { ...process.env, GENENV_HOME: home },
    print: (line: string) => void printed.push(line),
    warn: () => undefined,
    terminal: null,
  };
  try {
    await createProgram(context, () => undefined).parseAsync([...args, ...server], { from: 'user' });
  } catch (error) {
    return (error as Error).message;
  }
  return printed.join('\n');
}

test.each([
  [['pause', 'laptop'], `To resume: npx genenv resume laptop ${flags}`],
  [['stop', 'laptop'], `To resume after that: npx genenv resume laptop ${flags}`],
  [['cancel', 'laptop'], `To resume after that: npx genenv resume laptop ${flags}`],
  [['rewind', 'laptop', '--epoch', '0'], `npx genenv stop laptop ${flags}\` (after its epoch)`],
  [['schedule', 'pause', 'nights'], `npx genenv schedule resume nights ${flags}`],
  [['schedule', 'list'], `experiments/nightly.json --cron '0 2 * * *' ${flags}`],
])('%j on another server prints commands for that server', async (args, text) => {
  expect(await say(...args)).toContain(text);
});

test('of a run that does not run, the command that starts it again is for that server too', async () => {
  answers.status = 'COMPLETED';
  const resume = `npx genenv resume laptop ${flags}`;
  expect(await say('pause', 'laptop')).toContain(`laptop is not running; \`${resume}\` starts it`);
  expect(await say('status', 'laptop')).toContain(`to resume: ${resume}`);
  expect(await say('rewind', 'laptop', '--epoch', '0')).toContain(`To resume: ${resume}`);
  await run.end('finished');
  expect(await say('stop', 'laptop')).toContain(`fork laptop --epoch 1 --set epochs=2 ${flags}`);
});

test('of a run that has just ended, the command that says how', async () => {
  answers.update = () => {
    throw new WorkflowNotFoundError('none', 'laptop', undefined);
  };
  expect(await say('pause', 'laptop')).toBe(
    `laptop has just ended; \`npx genenv status laptop ${flags}\` says how`,
  );
});

test('evaluations and comparisons, with paths as a shell reads them', async () => {
  home = join(home, 'my home');
  await mkdir(join(home, 'evaluations/half'), { recursive: true });
  await mkdir(join(home, 'comparisons/begun'), { recursive: true });
  answers.status = 'FAILED';
  const commands = (JSON.parse(await say('status', '--json')) as { command: string }[]).map(
    ({ command }) => command,
  );
  expect(commands).toEqual([
    `npx genenv evaluate '${join(home, 'evaluations/half/evaluation.json')}' --id half ${flags}`,
    `npx genenv compare FILE --id begun ${flags}`,
  ]);
});
