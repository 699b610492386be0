import { expect, test } from 'vitest';
import { OutageLog } from '../../src/worker/outage-log.ts';

const place = { run: 'a', phase: 'rollOut' };
const problem = { server: 'http://x/v1', reason: 'connection refused' };

test('a night of failed tries is a few lines, each with its reason and the tries so far', () => {
  const log = new OutageLog();
  const events = [];
  for (let second = 0; second < 12 * 3600; second++) {
    const event = log.tryFailed(place, problem, second * 1000);
    if (event !== undefined) events.push(event);
  }
  expect(events[0]).toEqual({
    type: 'model-unavailable',
    phase: 'rollOut',
    ...problem,
    tries: 1,
    since: '1970-01-01T00:00:00.000Z',
  });
  expect(events[20]).toMatchObject({ tries: 320 });
  expect(events).toHaveLength(163);
  expect(log.succeeded({ ...place, run: 'b' })).toBeUndefined();
  expect(log.succeeded(place, 43_200_000)).toEqual({
    type: 'model-answered',
    phase: 'rollOut',
    server: 'http://x/v1',
    tries: 43_200,
    seconds: 43_200,
  });
  expect(log.succeeded(place)).toBeUndefined();
});

test('another server is another outage', () => {
  const log = new OutageLog();
  for (let tries = 0; tries < 30; tries++) log.tryFailed(place, problem, 0);
  expect(log.tryFailed(place, problem, 1)).toBeUndefined();
  expect(log.tryFailed(place, { ...problem, server: 'http://y/v1' }, 1)).toMatchObject({ tries: 1 });
});
