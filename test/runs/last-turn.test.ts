import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/runs/file-schemas.ts';
import { lastTurn, quotaReason } from '../../src/runs/last-turn.ts';

test.each([
  [['started', 'quota', 'retuned'], 'started'],
  [['started', 'ended', 'moved', 'note'], 'moved'],
  [['started', 'ended', 'rewinding'], 'rewinding'],
  [['started', 'ended', 'resumed'], 'resumed'],
])('of %j the last turn is %s', (types, last) => {
  expect(lastTurn(types.map((type) => ({ type })))).toEqual({ type: last });
});

test('a run of no events has not turned', () => {
  expect(lastTurn<RunEvent>([])).toBeUndefined();
});

test('a quota is the reason of an end by the cap of tokens alone', () => {
  const end = { type: 'ended', outcome: 'token cap reached', reason: 'its tokens' };
  expect(quotaReason(end)).toBe('its tokens');
  expect(quotaReason({ ...end, outcome: 'failed' })).toBeUndefined();
  expect(quotaReason({ ...end, type: 'resumed' })).toBeUndefined();
});
