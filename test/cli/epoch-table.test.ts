import { expect, test } from 'vitest';
import { epochTable } from '../../src/cli/lib/epoch-table.ts';
import type { EpochRow } from '../../src/report/run-data.ts';

const row = (epoch: number, fields: Partial<EpochRow>): EpochRow => ({
  epoch,
  metrics: {},
  time: {},
  at: null,
  notes: [],
  outputs: {},
  ...fields,
});
const lines = (rows: EpochRow[]) =>
  epochTable(rows)
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/));

test('each epoch has what it came to, and the seconds of the phases that took long in any epoch', () => {
  const table = lines([
    row(0, {
      metrics: { 'eval/heldout': 0.25, 'eval/heldout_low': 0.2, 'eval/heldout_high': 0.3 },
      time: { 'warm up': 720.4, publish: 0.6, epoch: 899 },
    }),
    row(1, {
      metrics: { 'env/success_rate': 0.375, 'env/reward': 0.319, 'env/difficulty': 2 },
      time: { 'roll out': 51.7, publish: 0.1, reward: 1.9, epoch: 120.8 },
    }),
  ]);
  expect(table).toEqual([
    [
      'epoch',
      'success',
      'R_env',
      'difficulty',
      'valid',
      'held-out',
      'low',
      'high',
      'warm up',
      'roll out',
      'seconds',
    ],
    ['0', '0.25', '0.20', '0.30', '720', '899'],
    ['1', '0.38', '0.32', '2.00', '52', '121'],
  ]);
});

test('an epoch without times, of a run whose metrics.jsonl is gone, has a line too', () => {
  expect(lines([row(3, { metrics: { 'env/success_rate': null } })]).at(-1)).toEqual(['3']);
});
