import { NamespaceNotFoundError, ServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { resultWhileWatching } from '../../src/cli/lib/follow.ts';
import { Interruption } from '../../src/cli/lib/interruption.ts';
import type { Session } from '../../src/cli/lib/session.ts';

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
