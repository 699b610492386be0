import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createActivityContext } from '../../src/worker/activity-context.ts';

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
