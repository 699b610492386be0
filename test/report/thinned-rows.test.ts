import { expect, it } from 'vitest';
import type { EpochRow } from '../../src/report/run-data.ts';
import { thinned } from '../../src/report/thinned-rows.ts';
import { epochRow } from './epoch-row.ts';

const row = (epoch: number, metrics: EpochRow['metrics'], time: EpochRow['time'] = {}): EpochRow =>
  epochRow(epoch, { metrics, time });

it('thins long runs to means of equally many epochs', () => {
  const long = Array.from({ length: 1201 }, (_, index) => row(index + 1, { reward: index % 3 }));
  const { rows: few, epochsPerPoint } = thinned(long);
  expect([few.length, epochsPerPoint, few[0]?.metrics.reward, few[0]?.epoch, few.at(-1)?.epoch]).toEqual([
    401, 3, 1, 3, 1201,
  ]);
  expect(thinned(long.slice(0, 500)).rows).toEqual(long.slice(0, 500));
});

it('keeps the preparation apart, whose warm-up takes longer than epochs', () => {
  const preparation = row(0, { 'eval/heldout': 0.1 }, { epoch: 9000, 'warm up': 9000 });
  const { rows, epochsPerPoint } = thinned([preparation, ...[1, 2, 3, 4].map((epoch) => row(epoch, {}))], 2);
  expect(epochsPerPoint).toBe(2);
  expect(rows.map(({ epoch }) => epoch)).toEqual([0, 2, 4]);
  expect(rows[0]).toEqual(preparation);
});

it('counts what an epoch lacks as none of it, and what was not measured not at all', () => {
  const { rows } = thinned(
    [
      row(
        1,
        { 'env/kind/T': 1, 'env/filtered/too_easy': 3, reward: 0.5, num_tokens: 100 },
        { epoch: 4, generate: 4 },
      ),
      row(
        2,
        { 'env/kind/T': 0.5, 'env/kind/U': 0.5, 'env/invalid/cut_off': 8, reward: null, num_tokens: 200 },
        { epoch: 10, generate: 4, evaluate: 6 },
      ),
      row(3, { reward: 0.2, num_tokens: 300 }, { epoch: 5, generate: 5 }),
      row(4, { reward: 0.4, num_tokens: 400 }),
    ],
    2,
  );
  expect(rows.map(({ metrics }) => metrics)).toEqual([
    {
      'env/kind/T': 0.75,
      'env/kind/U': 0.25,
      'env/filtered/too_easy': 1.5,
      'env/invalid/cut_off': 4,
      reward: 0.5,
      num_tokens: 200,
    },
    { reward: expect.closeTo(0.3, 9) as number, num_tokens: 400 },
  ]);
  expect(rows.map(({ time }) => time)).toEqual([
    { epoch: 7, generate: 4, evaluate: 3 },
    { epoch: 5, generate: 5 },
  ]);
});
