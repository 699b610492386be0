import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { requestRetries } from '../../src/temporal/request-retries.ts';

/** What a Temporal server answers while its services look for each other. */
const starting = {
  code: status.UNAVAILABLE,
  details: 'Not enough hosts to serve the request',
} as Parameters<typeof requestRetries.delayFunction>[1];

test('a command repeats its request for half a minute and more at a server that starts, and no minute and a half', () => {
  let [attempt, waitedMs] = [1, 0];
  for (; requestRetries.retryableDecider(attempt, starting); attempt++)
    waitedMs += requestRetries.delayFunction(attempt, starting);
  expect(waitedMs).toBeGreaterThan(30_000);
  expect(waitedMs).toBeLessThan(90_000);
});

test('a refusal is not repeated', () => {
  expect(requestRetries.retryableDecider(1, { ...starting, code: status.INVALID_ARGUMENT })).toBe(false);
});
