import { expect, test } from 'vitest';
import { FailedAttempts } from '../../src/worker/failed-attempts.ts';

test('the next attempt of an activity can say why the one before failed, in a line', () => {
  const failures = new FailedAttempts();
  failures.failed('run/1/5', Object.assign(new Error('no such\n  port'), { name: 'ModelUnavailable' }));
  failures.failed('run/1/6', new Error('x'.repeat(10_000)));
  expect(failures.reason('run/1/5')).toBe('ModelUnavailable: no such port');
  expect(failures.reason('run/1/6')).toHaveLength(300);
});

test('of another worker’s attempt, or of one that ended with its worker, nothing is made up', () => {
  const failures = new FailedAttempts();
  failures.failed('run/1/5', new Error('known'));
  expect(failures.reason('run/1/7')).toContain('is not known here');
});

test('a thousand activities are remembered, those that failed last', () => {
  const failures = new FailedAttempts();
  for (let activity = 0; activity <= 1_000; activity++) failures.failed(String(activity), new Error('away'));
  expect(failures.reason('0')).toContain('is not known here');
  expect(failures.reason('1')).toBe('away');
});
