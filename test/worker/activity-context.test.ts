import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createActivityContext } from '../../src/worker/activity-context.ts';

test('who listens to an attempt hears each of its beats, whatever part of the worker gave it, and none of another attempt', async () => {
  const { signal } = new AbortController();
  const heard: string[] = [];
  const listened = new MockActivityEnvironment();
  const other = new MockActivityEnvironment();
  const listen = (name: string) => () => {
    createActivityContext(signal).onBeat(() => heard.push(`${name}, first`));
    createActivityContext(signal).onBeat(() => heard.push(`${name}, second`));
    // Such as the store, which asks for the attempt anew at each beat.
    createActivityContext(signal).heartbeat({ hashing: 1 });
    return Promise.resolve();
  };
  await listened.run(listen('one'));
  expect(heard).toEqual(['one, first', 'one, second']);
  await other.run(listen('other'));
  expect(heard).toEqual(['one, first', 'one, second', 'other, first', 'other, second']);
});
