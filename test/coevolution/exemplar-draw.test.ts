import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory, updateHistory } from '../../src/coevolution/agent-history.ts';
import type { TaskOutcome } from '../../src/coevolution/agent-history.ts';
import { drawExemplars } from '../../src/coevolution/arms/best-of-n.ts';
import { selectCandidates } from '../../src/coevolution/arms/selection.ts';
import { randomStream } from '../../src/numerics/random.ts';

const record = (env_reward: number, weight = 1) => ({ env_reward, weight });

describe('exemplars', () => {
  it('are drawn without replacement, from those with a weight, and follow from the stream', () => {
    const records = fc.array(
      fc.record({
        env_reward: fc.double({ min: 0, max: 1, noNaN: true }),
        weight: fc.constantFrom(0, 0.5, 1),
      }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(
        records,
        fc.nat(8),
        fc.double({ min: 0, max: 1e4, noNaN: true }),
        fc.nat(),
        (all, count, lambda, seed) => {
          const drawn = drawExemplars(all, count, { lambda }, randomStream(seed));
          expect(drawn).toEqual(drawExemplars(all, count, { lambda }, randomStream(seed)));
          expect(drawn).toHaveLength(Math.min(count, all.filter(({ weight }) => weight > 0).length));
          expect(new Set(drawn).size).toBe(drawn.length);
          expect(drawn.every((exemplar) => exemplar.weight > 0 && all.includes(exemplar))).toBe(true);
        },
      ),
    );
  });

  it('come with probability proportional to exp(λ R)', () => {
    const [low, high] = [record(0.2), record(0.7)];
    const shareOfHigh = (lambda: number): number =>
      Array.from(
        { length: 4000 },
        (_, seed) => drawExemplars([low, high], 1, { lambda }, randomStream(seed))[0] === high,
      ).filter(Boolean).length / 4000;
    expect(shareOfHigh(0)).toBeCloseTo(0.5, 1);
    // e^(2 · 0.7) / (e^(2 · 0.7) + e^(2 · 0.2)) = 1 / (1 + e^-1)
    expect(Math.abs(shareOfHigh(2) - 0.731)).toBeLessThan(0.03);
    expect(shareOfHigh(1000)).toBe(1);
  });

  it('refuse what is no number', () => {
    expect(() => drawExemplars([record(NaN)], 1, { lambda: 1 }, randomStream(1))).toThrow(
      'records[0].env_reward',
    );
    expect(() => drawExemplars([record(1, 2)], 1, { lambda: 1 }, randomStream(1))).toThrow(
      'records[0].weight',
    );
    expect(() => drawExemplars([record(1)], 1, { lambda: -1 }, randomStream(1))).toThrow('lambda');
  });
});

describe('the choice among candidates', () => {
  it('goes by what they are worth, and takes what is no task last of all', () => {
    const worth = (predicted: number | null): number => 1 - Math.abs((predicted ?? 0.3) - 0.3);
    const candidates = (...predicted: (number | null)[]) =>
      predicted.map((p) => ({ predicted: p, usable: true }));
    expect(selectCandidates(candidates(0.5, 0.35, 1), 1, randomStream(1), worth)).toEqual([1]);
    expect(selectCandidates(candidates(0.5, null, 1), 1, randomStream(1), worth)).toEqual([1]);
    expect(
      selectCandidates(
        [
          { predicted: 0.3, usable: false },
          { predicted: 1, usable: true },
        ],
        1,
        randomStream(1),
        worth,
      ),
    ).toEqual([1]);
  });
});

describe('signatures in the agent’s history', () => {
  const outcome = (signature?: string, attempts = 2): TaskOutcome => ({
    kind: 'a',
    difficulty: 1,
    successes: 1,
    attempts,
    ...(signature !== undefined && { signature }),
  });

  it('are counted over the window, most frequent first, from two on', () => {
    let history = emptyHistory();
    const epochs = [
      ['x', 'x', 'x'],
      ['y', 'y', 'z'],
      ['z', 'y'],
    ];
    for (const signatures of epochs)
      history = updateHistory(
        history,
        signatures.map((signature) => outcome(signature)),
        { window: 2 },
      );
    expect(history.repeated).toEqual([
      { signature: 'y', count: 3 },
      { signature: 'z', count: 2 },
    ]);
    expect(
      updateHistory(emptyHistory(), [outcome('b'), outcome('a'), outcome('b'), outcome('a')], {
        window: 1,
      }).repeated!.map(({ signature }) => signature),
    ).toEqual(['a', 'b']);
  });

  it('are bounded, and not counted where nothing was tried', () => {
    const many = Array.from({ length: 200 }, (_, index) => [
      outcome(`s${index}`),
      outcome(`s${index}`),
    ]).flat();
    const { repeated, epochs } = updateHistory(
      emptyHistory(),
      [...many, outcome('never', 0), outcome('never', 0), outcome('never', 0)].map((task) =>
        task.attempts === 0 ? { ...task, successes: 0 } : task,
      ),
      { window: 1 },
    );
    expect(repeated).toHaveLength(4);
    expect(Object.keys(epochs[0]!.signatures!)).toHaveLength(32);
    expect(JSON.stringify(epochs)).not.toContain('never');
  });

  it('leave no trace in worlds without them', () => {
    expect(JSON.stringify(updateHistory(emptyHistory(), [outcome()], { window: 1 }))).not.toMatch(
      /repeated|signatures/,
    );
  });
});
