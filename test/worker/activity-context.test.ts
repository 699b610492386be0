import { MockActivityEnvironment } from '@temporalio/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActivityCancellationDetails, CancelledFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { ActivityContext } from '../../src/runtime/activity-context.ts';
import { createActivityContext, heartbeatDuringRequest } from '../../src/worker/activity-context.ts';

test('a listener of an attempt hears each of its heartbeats, from any part of the worker, and none of another attempt', async () => {
  const { signal } = new AbortController();
  const heard: string[] = [];
  const first = new MockActivityEnvironment();
  const second = new MockActivityEnvironment();
  const listen = (name: string) => () => {
    createActivityContext(signal).onHeartbeat(() => heard.push(`${name}, first`));
    createActivityContext(signal).onHeartbeat(() => heard.push(`${name}, second`));
    // As the store does, which creates the context again for each heartbeat.
    createActivityContext(signal).heartbeat({ hashing: 1 });
    return Promise.resolve();
  };
  await first.run(listen('one'));
  expect(heard).toEqual(['one, first', 'one, second']);
  await second.run(listen('other'));
  expect(heard).toEqual(['one, first', 'one, second', 'other, first', 'other, second']);
});

test.each([
  ['the server does not know it', { notFound: true }, true],
  ['it has timed out here', { notFound: true, timedOut: true }, true],
  ['it is cancelled', { cancelRequested: true }, false],
  ['it is paused', { paused: true }, false],
  ['it is reset', { reset: true }, false],
  ['its worker is shut down', { workerShutdown: true }, false],
])('an attempt is superseded only if the server has given it up: %s', async (_, details, expected) => {
  const environment = new MockActivityEnvironment();
  const attempt = await environment.run<[], ActivityContext, () => Promise<ActivityContext>>(() =>
    Promise.resolve(createActivityContext(new AbortController().signal)),
  );
  expect(attempt.isSuperseded()).toBe(false);
  environment.cancel('CANCELLED', new ActivityCancellationDetails(details));
  expect(attempt.signal.aborted).toBe(true);
  expect(attempt.isSuperseded()).toBe(expected);
});

test('an attempt heartbeats while a request is under way, with the details of its progress, until the limit of the request', async () => {
  const environment = new MockActivityEnvironment();
  const beats: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => beats.push(details));
  const { signal } = new AbortController();
  const answer = await environment.run(async () => {
    createActivityContext(signal).heartbeat({ requests: 3 });
    return heartbeatDuringRequest(signal, 2_500, () => sleep(4_500, 'answered'));
  });
  expect(answer).toBe('answered');
  expect(beats).toEqual([
    { requests: 3 },
    { requests: 3, request_seconds: 1 },
    { requests: 3, request_seconds: 2 },
  ]);
  await sleep(1_200);
  expect(beats).toHaveLength(3);
});

test('an attempt that is cancelled, or whose worker stops, lets go of its request, which may never end', async () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const environment = new MockActivityEnvironment();
  const cancelled = environment.run(() =>
    heartbeatDuringRequest(new AbortController().signal, 600_000, never),
  );
  environment.cancel();
  await expect(cancelled).rejects.toThrow(CancelledFailure);

  const stopping = new AbortController();
  const stopped = new MockActivityEnvironment().run(() =>
    heartbeatDuringRequest(stopping.signal, 600_000, never),
  );
  stopping.abort(new Error('the worker stops'));
  await expect(stopped).rejects.toThrow('the worker stops');
});
