import { describe, expect, test } from 'vitest';
import { outageDelay, reportInterval } from '../../src/workflows/model-outages.ts';
import { outageText } from '../../src/workflows/outage-text.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** Tries in an outage, each of which fails at once. */
function triesIn(outageMs: number): number {
  let tries = 1;
  for (let at = 0; (at += outageDelay(tries - 1, at)) <= outageMs;) tries += 1;
  return tries;
}

describe('the delay to the next try', () => {
  test('doubles from 0.2 s to a minute, and is five minutes after an hour', () => {
    expect([0, 1, 2, 8, 9, 60].map((round) => outageDelay(round, 0))).toEqual([
      200, 400, 800, 51_200, 60_000, 60_000,
    ]);
    expect(outageDelay(70, hour)).toBe(300_000);
    expect(outageDelay(70, day)).toBe(300_000);
  });

  test('grows with an outage of more than a day, so that a year of waiting fits into one history', () => {
    expect(outageDelay(400, 10 * day)).toBe(day / 28.8);
    expect([hour, 12 * hour, 365 * day].map(triesIn)).toEqual([68, 200, 2046]);
    // 18 events and 8 kB a try; a history holds 51,200 events and 50 MB.
    expect(18 * triesIn(365 * day)).toBeLessThan(40_000);
  });
});

test('reports to a parent grow rarer, so that a year of 16 runs that wait fits into the history of a comparison', () => {
  let reports = 0;
  for (let at = 2_000; at < 365 * day; at += Math.max(reportInterval(at), outageDelay(20, at))) reports += 1;
  expect(reportInterval(60_000)).toBe(20_000);
  expect(reportInterval(day)).toBe(hour);
  // A report is 4 events of the parent.
  expect(16 * 4 * reports).toBeLessThan(30_000);
});

test('what people are told', () => {
  const outage = {
    server: 'http://127.0.0.1:8900/v1',
    reason: 'connection refused',
    tries: 17,
    since: '2026-11-22T15:58:52.000Z',
  };
  expect(outageText(outage, new Date('2026-11-22T16:30:00Z'))).toBe(
    'waiting for http://127.0.0.1:8900/v1: connection refused, 17 tries, since 15:58 UTC',
  );
  expect(outageText({ ...outage, tries: 1 }, new Date('2026-11-23T06:30:00Z'))).toBe(
    'waiting for http://127.0.0.1:8900/v1: connection refused, 1 try, since 2026-11-22 15:58 UTC',
  );
});
