import { describe, expect, it } from 'vitest';
import { remember } from '../../src/coevolution/environment-pool.ts';

const record = (epoch: number, signature: string, env_reward = 1, history_success: number | null = 0.5) => ({
  epoch,
  signature,
  env_reward,
  history_success,
});
const names = (records: readonly ReturnType<typeof record>[]) =>
  records.map(({ epoch, signature }) => `${signature}${epoch}`);

describe('remember', () => {
  const older = [
    record(0, 'a'),
    record(0, 'b', 0.5),
    record(1, 'a'),
    record(1, 'c', 1, 0.2),
    record(2, 'a', 0.5),
    record(2, 'd', 1, null),
    record(3, 'c'),
  ];

  it('keeps what earned enough, the newest of each tenth, copies too', () => {
    expect(names(remember(older, { minReward: 0.6, perTenth: 32 }))).toEqual(['a0', 'a1', 'c1', 'c3']);
    expect(names(remember(older, { minReward: 0.6, perTenth: 1 }))).toEqual(['c1', 'c3']);
  });

  it('keeps of equal tasks the newest that earned enough, where it is asked to', () => {
    expect(names(remember(older, { minReward: 0.6, perTenth: 32, deduplicate: true }))).toEqual(['a1', 'c3']);
    expect(names(remember(older, { minReward: 0, perTenth: 32, deduplicate: true }))).toEqual([
      'b0',
      'a2',
      'c3',
    ]);
  });
});
