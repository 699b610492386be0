import { ServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { beforeEach, expect, test, vi } from 'vitest';
import { readRunStatus, runDetails } from '../../src/cli/lib/run-status.ts';
import type { TemporalServer } from '../../src/cli/lib/temporal-source.ts';
import { createProgram } from '../../src/cli/program.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from '../tracking/growing-run.ts';

const late = (): Error =>
  new ServiceError('Failed to ask', {
    cause: Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4, details: '' }),
  });
const listed = () => [][Symbol.iterator]();

/** A server on which all runs run, unless `describe` or `list` fails. */
const serverOf = ({
  describe = () => Promise.resolve({ status: { name: 'RUNNING' }, raw: {} }),
  list = listed,
}) =>
  ({
    client: {
      options: { namespace: 'default' },
      withDeadline: (_: number, ask: () => unknown) => ask(),
      schedule: { list: listed },
      workflow: {
        list,
        getHandle: () => ({ describe, query: () => Promise.reject(new Error('no worker')) }),
      },
    } as unknown as Client,
    ui: null,
  }) satisfies TemporalServer;

/** What each look for the server gives: the first is before the first text. */
let servers: (TemporalServer | null | Error)[] = [];
vi.mock(import('../../src/cli/lib/session.ts'), async (original) => ({
  ...(await original()),
  serverFinder: () => () => {
    const server = servers.shift() ?? null;
    return server instanceof Error ? Promise.reject(server) : Promise.resolve(server);
  },
}));
// The pause between two texts; after the last server, Ctrl-C.
vi.mock(import('node:timers/promises'), async (original) => ({
  ...(await original()),
  setTimeout: (() => {
    if (servers.length === 0) process.emit('SIGINT', 'SIGINT');
    return Promise.resolve();
  }) as never,
}));

let run: GrowingRun;
beforeEach(async () => {
  run = await GrowingRun.start(await temporaryFolder(), 'laptop');
  await run.commitTo(1);
});

/** What `status --watch` prints and warns of. */
async function watched(...args: string[]): Promise<string[]> {
  const printed: string[] = [];
  const context = {
    env: { GENENV_HOME: run.home },
    print: (line: string) => void printed.push(line),
    warn: (line: string) => void printed.push(line),
    terminal: null,
  };
  await createProgram(context, () => undefined).parseAsync(['status', ...args, '--watch'], { from: 'user' });
  return printed;
}

test('a stack that starts is found, and one that ends leaves what files say and why', async () => {
  const ending = serverOf({
    list: () => {
      throw late();
    },
  });
  servers = [null, null, serverOf({}), ending, new ServiceError('away'), null];
  expect(await watched()).toEqual([
    expect.stringMatching(/^laptop +interrupted +1\/9 /m),
    expect.stringMatching(/^laptop +running +1\/9 /m),
    expect.stringMatching(/^laptop +interrupted +1\/9 /m),
    'Temporal has not answered: Failed to ask: 4 DEADLINE_EXCEEDED',
    'Temporal refused: away',
  ]);
});

test('a server that fails at the start ends it', async () => {
  servers = [late()];
  await expect(watched('laptop')).rejects.toThrow('Failed to ask');
});

test('a run whose server does not answer is shown by its files, with the problem', async () => {
  const { client } = serverOf({ describe: () => Promise.reject(late()) });
  const status = await readRunStatus(run.folder, client, {});
  expect(status).toMatchObject({ state: 'unreadable', epoch: 1, epochs: 9, resumeCommand: null });
  expect(runDetails(status)).toMatch(/^problem +Temporal has not answered: Failed to ask/m);
  await run.end('stopped');
  expect(await readRunStatus(run.folder, client, {})).toMatchObject({
    state: 'stopped',
    resumeCommand: 'npx genenv resume laptop',
    problem: 'Temporal has not answered: Failed to ask: 4 DEADLINE_EXCEEDED',
  });
});
