import { NamespaceNotFoundError, ServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startEvaluation } from '../../src/cli/lib/follow-evaluation.ts';
import { resultWhileWatching, runInSession } from '../../src/cli/lib/follow.ts';
import { Interruption } from '../../src/cli/lib/interruption.ts';
import type { Session } from '../../src/cli/lib/session.ts';
import { parseEvaluation } from '../../src/config/evaluation.ts';
import { noNeeds } from '../../src/dev-stack/stack-needs.ts';

/** The session that is opened: without a stack, as on the server of others. */
const opened = { ownsStack: false };
vi.mock(import('../../src/cli/lib/session.ts'), async (original) => ({
  ...(await original()),
  openSession: () => Promise.resolve({ ...opened, close: () => Promise.resolve() } as never),
}));

const unavailable = (): Error =>
  new ServiceError('away', { cause: Object.assign(new Error('14 UNAVAILABLE'), { code: 14, details: '' }) });

test.each([
  ['a server that is away', unavailable],
  [
    'a server that says it has no such namespace while its database is away',
    () => new NamespaceNotFoundError('default'),
  ],
])('a run is followed through %s', async (_, failure) => {
  const failures = [failure()];
  const handle = {
    result: () => {
      const next = failures.pop();
      return next === undefined ? Promise.resolve('the result') : Promise.reject(next);
    },
  };
  const client = { withAbortSignal: (_stop: AbortSignal, call: () => Promise<unknown>) => call() };
  const session = { client, lost: new Promise(() => undefined) } as unknown as Session;
  const interruption = new Interruption(() => undefined);
  try {
    const result = await resultWhileWatching(session, { id: 'any', handle }, interruption, () =>
      Promise.resolve(),
    );
    expect(result).toBe('the result');
  } finally {
    interruption.dispose();
  }
});

test.each([
  [
    false,
    '\nSIGHUP: no longer followed; what is under way continues on its server.',
    'To follow it again: npx genenv run FILE\nTo end it: npx genenv cancel laptop',
  ],
  [
    true,
    '\nSIGHUP: stopping; what is under way is saved. Once more stops at once.',
    'Stopping. To resume: npx genenv run FILE',
  ],
])('an interruption says what becomes of the run, if ownsStack is %s', async (ownsStack, ...lines) => {
  opened.ownsStack = ownsStack;
  const printed: string[] = [];
  const context = {
    env: { GENENV_DASHBOARD: 'off' },
    print: (line: string) => void printed.push(line),
    warn: () => undefined,
    terminal: null,
  };
  const code = await runInSession(null, context, {
    use: { needs: noNeeds, own: 'laptop' },
    page: 'runs/laptop',
    resumeCommand: 'npx genenv run FILE',
    cancelCommand: 'npx genenv cancel laptop',
    follow: () => {
      process.emit('SIGHUP', 'SIGHUP');
      return Promise.resolve(undefined);
    },
    end: () => Promise.reject(new Error('it has no result')),
  });
  expect({ code, printed }).toEqual({ code: 130, printed: lines });
});

test('a terminal that is closed asks for a clean stop, however often it says so; Ctrl-C after it hurries', () => {
  const interruption = new Interruption(() => undefined);
  onTestFinished(() => interruption.dispose());
  process.emit('SIGHUP', 'SIGHUP');
  process.emit('SIGHUP', 'SIGHUP');
  expect(interruption.stop.aborted).toBe(true);
  expect(interruption.hurry.aborted).toBe(false);
  process.emit('SIGINT', 'SIGINT');
  expect(interruption.hurry.aborted).toBe(true);
});

test('an evaluation that runs is followed with its own settings only', async () => {
  const raw = { name: 'gold', suites: ['bamboogle_closedbook'], policy: { type: 'gold' } };
  const start = vi.fn((_type: string, { memo }: { memo: Record<string, unknown> }) => Promise.resolve(memo));
  const memoOf = (changes: object, memo: Record<string, unknown> | undefined) => {
    const describe = () => Promise.resolve({ status: { name: 'RUNNING' }, memo, startTime: new Date() });
    const client = { workflow: { getHandle: () => ({ describe }), start } } as unknown as Client;
    const file = { ...raw, ...changes };
    return startEvaluation(client, { id: 'gold', raw: file, evaluation: parseEvaluation(file), summary: '' });
  };
  // A workflow of an earlier version has no memo.
  const memo = (await memoOf({}, undefined)) as unknown as Record<string, unknown>;
  expect(await memoOf({ concurrency: 3 }, memo)).toEqual(memo);
  start.mockClear();
  await expect(memoOf({ temperature: 1 }, memo)).rejects.toMatchObject({
    name: 'InvalidConfig',
    message:
      'evaluation: the id "gold" is running with other settings; wait until it has ended, or give --id another',
  });
  expect(start).not.toHaveBeenCalled();
});
