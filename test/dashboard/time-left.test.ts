import { expect, test } from 'vitest';
import { timeLeft } from '../../src/dashboard/time-left.ts';
import type { RunState } from '../../src/dashboard/time-left.ts';

const run = (overrides: Partial<RunState>): RunState => ({
  state: 'running',
  isFinished: false,
  mayChange: true,
  epoch: 0,
  epochs: 40,
  secondsLeft: null,
  ...overrides,
});

test('waiting runs are estimated at the pace of the active ones', () => {
  // Two runs commit an epoch in 10 s each; 20 + 30 + 40 epochs are left.
  const active = [run({ epoch: 20, secondsLeft: 200 }), run({ epoch: 10, secondsLeft: 300 })];
  expect(timeLeft([...active, run({ state: 'not started' })])).toBeCloseTo(450, 9);
});

test('no comparison is done before its longest run', () => {
  const short = run({ epoch: 39, secondsLeft: 10 });
  expect(timeLeft([run({ epochs: 100, secondsLeft: 1000 }), short, short])).toBe(1000);
});

test('what has failed is not waited for, and nothing is known while nothing runs', () => {
  const active = run({ epoch: 30, secondsLeft: 100 });
  const ended = [run({ state: 'failed' }), run({ isFinished: true, epoch: 40 })];
  expect(timeLeft([active, ...ended])).toBeCloseTo(100, 9);
  expect(timeLeft([run({ state: 'interrupted' })])).toBeNull();
});
