import { expect, test } from 'vitest';
import { FailedAttempts } from '../../src/worker/failed-attempts.ts';

test('the next attempt of an activity can say why the one before failed, in a line', () => {
  const failures = new FailedAttempts();
  failures.record('run/1/5', 1, Object.assign(new Error('no such\n  port'), { name: 'ModelUnavailable' }));
  failures.record('run/1/6', 1, new Error('x'.repeat(10_000)));
  expect(failures.reasonFor('run/1/5', 2)).toBe('ModelUnavailable: no such port');
  expect(failures.reasonFor('run/1/6', 2)).toHaveLength(300);
});

test('of an attempt on another worker, or one that ended with its worker, nothing is made up', () => {
  const failures = new FailedAttempts();
  failures.record('run/1/5', 1, new Error('of the first'));
  // The second was elsewhere.
  expect(failures.reasonFor('run/1/5', 3)).toContain('is not known here');
  expect(failures.reasonFor('run/1/7', 2)).toContain('is not known here');
});

test('a thousand activities are remembered, those that failed last', () => {
  const failures = new FailedAttempts();
  for (let activity = 0; activity <= 1_000; activity++)
    failures.record(String(activity), 1, new Error('away'));
  expect(failures.reasonFor('0', 2)).toContain('is not known here');
  expect(failures.reasonFor('1', 2)).toBe('away');
});
