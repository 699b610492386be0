import { expect, it } from 'vitest';
import { withQueueTimes } from '../../src/report/queue-times.ts';
import type { EpochRow, ReportEvent } from '../../src/report/run-data.ts';
import { epochRow } from './epoch-row.ts';

const row = (epoch: number, time: Record<string, number>): EpochRow => epochRow(epoch, { time });
const queued = (epoch: number, phase: string, job: string, seconds: number): ReportEvent => ({
  ...{ at: '', type: 'queued', epoch },
  ...{ phase, job, seconds },
});
const timesOf = (rows: EpochRow[], events: ReportEvent[]): Record<string, number>[] =>
  withQueueTimes(rows, events).map(({ time }) => time);

it('a wait in a queue is a phase of its own, taken from the phase that waited', () => {
  const rows = [row(1, { 'train agent': 100, epoch: 130 }), row(2, { 'train agent': 50, epoch: 60 })];
  expect(timesOf(rows, [queued(1, 'train agent', 'a', 60), queued(1, 'train agent', 'b', 5)])).toEqual([
    { 'train agent': 35, queue: 65, epoch: 130 },
    { 'train agent': 50, epoch: 60 },
  ]);
});

it('a wait that two workers recorded counts once, and no phase becomes shorter than nothing', () => {
  const rows = [row(1, { 'train agent': 40, 'train environment': 9, epoch: 60 })];
  const twice = [queued(1, 'train agent', 'a', 60), queued(1, 'train agent', 'a', 61)];
  expect(timesOf(rows, [...twice, queued(1, 'train environment', 'b', 2)])).toEqual([
    { 'train agent': 0, 'train environment': 7, queue: 42, epoch: 60 },
  ]);
});

it('a wait of an epoch that was discarded does not count', () => {
  const rows = [row(1, { 'train agent': 10 }), row(2, { 'train agent': 10 })];
  const rewound = { at: '', type: 'rewound', epoch: 1 };
  const events = [queued(1, 'train agent', 'a', 3), queued(2, 'train agent', 'b', 4), rewound];
  expect(timesOf(rows, [...events, queued(2, 'train agent', 'c', 5)])).toEqual([
    { 'train agent': 7, queue: 3 },
    { 'train agent': 5, queue: 5 },
  ]);
});
