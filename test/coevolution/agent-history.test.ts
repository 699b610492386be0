import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory, updateHistory } from '../../src/coevolution/agent-history.ts';
import type { AgentHistory, TaskOutcome } from '../../src/coevolution/agent-history.ts';

const task = (kind: string, difficulty: number, successes: number, attempts = 8): TaskOutcome => ({
  kind,
  difficulty,
  successes,
  attempts,
});

function fold(epochs: readonly (readonly TaskOutcome[])[], window: number): AgentHistory {
  return epochs.reduce((history, outcomes) => updateHistory(history, outcomes, { window }), emptyHistory());
}

const outcome = fc
  .record({
    kind: fc.constantFrom('T', 'U', '__proto__', 'constructor', '7'),
    difficulty: fc.integer({ min: 1, max: 16 }),
    attempts: fc.integer({ min: 0, max: 8 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ kind, difficulty, attempts, share }) =>
    task(kind, difficulty, Math.round(share * attempts), attempts),
  );
const run = fc.array(fc.array(outcome, { maxLength: 12 }), { maxLength: 8 });

describe('updateHistory', () => {
  it('sums up an epoch', () => {
    const history = fold([[task('U', 3, 4), task('T', 5, 0), task('T', 2, 8), task('T', 9, 0, 0)]], 3);
    // 12 of 24; T 8 of 16; in band: only 4/8, of three measured tasks; one epoch has no trend.
    expect(history).toMatchObject({
      success: 0.5,
      byKind: { T: { successes: 8, attempts: 16 }, U: { successes: 4, attempts: 8 } },
      recentFailures: [{ kind: 'T', difficulty: 5 }],
      inBandShare: 1 / 3,
      trend: null,
    });
    expect(Object.keys(history.byKind)).toEqual(['T', 'U']);
  });

  it('counts no attempt that was not made', () => {
    const history = fold([[task('T', 9, 0, 0)]], 2);
    expect(history).toMatchObject({
      success: null,
      byKind: {},
      recentFailures: [],
      inBandShare: null,
      trend: null,
    });
  });

  it('forgets what is older than the window', () => {
    const history = fold([[task('old', 1, 0)], [task('T', 1, 2)], [task('T', 2, 6)]], 2);
    // 8 of 16, rates 0.25 and 0.75: slope 0.5 an epoch.
    expect(history.byKind).toEqual({ T: { successes: 8, attempts: 16 } });
    expect(history.recentFailures).toEqual([]);
    expect(history.trend).toBeCloseTo(0.5, 12);
  });

  it('fits the trend by least squares, over gaps too', () => {
    // Rates 0, 0.5, 0.25 at epochs 0, 1, 2: slope (-1 * 0 + 0 * 0.5 + 1 * 0.25) / 2 = 0.125.
    expect(fold([[task('T', 1, 0)], [task('T', 1, 4)], [task('T', 1, 2)]], 3).trend).toBeCloseTo(0.125, 12);
    // Rates 0 and 1 at epochs 0 and 2: 0.5 an epoch.
    expect(fold([[task('T', 1, 0)], [], [task('T', 1, 8)]], 3).trend).toBeCloseTo(0.5, 12);
  });

  it('lists the newest failures first, and no more than asked', () => {
    const epochs = [[task('T', 1, 0)], [task('T', 2, 0), task('T', 9, 1), task('U', 3, 0)]];
    expect(fold(epochs, 5).recentFailures).toEqual([
      { kind: 'T', difficulty: 2 },
      { kind: 'U', difficulty: 3 },
      { kind: 'T', difficulty: 1 },
    ]);
    expect(updateHistory(emptyHistory(), epochs[1] ?? [], { window: 5, failures: 1 }).recentFailures).toEqual(
      [{ kind: 'T', difficulty: 2 }],
    );
  });

  it('depends on the last window epochs only', () => {
    fc.assert(
      fc.property(run, fc.integer({ min: 1, max: 4 }), (epochs, window) => {
        expect(fold(epochs, window)).toEqual(fold(epochs.slice(-window), window));
      }),
    );
  });

  it('has the same bytes whatever the order of tasks, the failures aside', () => {
    fc.assert(
      fc.property(run, (epochs) => {
        const bytes = (history: AgentHistory) =>
          JSON.stringify({
            ...history,
            recentFailures: [],
            epochs: history.epochs.map((epoch) => ({ ...epoch, failures: [] })),
          });
        expect(
          bytes(
            fold(
              epochs.map((outcomes) => outcomes.toReversed()),
              3,
            ),
          ),
        ).toBe(bytes(fold(epochs, 3)));
      }),
    );
  });

  it('survives JSON, keeps its bounds and leaves its input alone', () => {
    fc.assert(
      fc.property(run, fc.array(outcome), (epochs, next) => {
        const history = fold(epochs, 3);
        const before = structuredClone(history);
        const direct = updateHistory(history, next, { window: 3 });
        expect(history).toEqual(before);
        expect(
          JSON.stringify(
            updateHistory(JSON.parse(JSON.stringify(history)) as AgentHistory, next, { window: 3 }),
          ),
        ).toBe(JSON.stringify(direct));
        for (const share of [direct.success, direct.inBandShare]) {
          if (share !== null) expect(share >= 0 && share <= 1).toBe(true);
        }
        if (direct.trend !== null) expect(Math.abs(direct.trend)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => updateHistory(emptyHistory(), [], { window: 0 })).toThrow(
      'window must be an integer of at least 1, got 0',
    );
    expect(() => fold([[task('T', 1, 9, 8)]], 1)).toThrow(
      'outcomes[0].successes must be an integer in [0, 8], got 9',
    );
    expect(() => fold([[task('T', NaN, 1)]], 1)).toThrow('outcomes[0].difficulty');
  });
});
