import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactMatch, exactTextMatch, softSimilarity } from '../../src/coevolution/answer-rewards.ts';
import type { Action } from '../../src/coevolution/answer-rewards.ts';

describe('softSimilarity', () => {
  it('is token F1', () => {
    // Shared: the, cat (2); 3 and 4 tokens: 2 * 2 / 7.
    expect(softSimilarity('the cat sat', 'The cat, it ran!')).toBeCloseTo(4 / 7, 12);
    expect(softSimilarity('cat', 'dog')).toBe(0);
    expect(softSimilarity('  Paris. ', 'paris')).toBe(1);
    expect(softSimilarity("don't stop", 'don t stop')).toBe(1);
  });

  it('counts a token as often as it occurs', () => {
    // One 'a' shared of four and one: 2 * 1 / 5.
    expect(softSimilarity('a a a a', 'a')).toBe(0.4);
  });

  it('keeps numbers apart that SQuAD would not', () => {
    expect(softSimilarity('2.5', '25')).toBe(0);
    expect(softSimilarity('-3', '3')).toBe(0);
    expect(softSimilarity('1,000', '1000')).toBe(0);
    // A dash between two numbers is no sign.
    expect(softSimilarity('1990-1995', '1990 1995')).toBe(1);
    expect(softSimilarity('42.', '42')).toBe(1);
    expect(softSimilarity('10km', '20km')).toBe(0);
    expect(softSimilarity('1990s', '1870s')).toBe(0);
  });

  it('gives an empty answer nothing', () => {
    expect(softSimilarity('', 'paris')).toBe(0);
    expect(softSimilarity('A', 'The')).toBe(0);
    expect(softSimilarity('?', '!')).toBe(0);
    expect(softSimilarity('', '')).toBe(1);
    expect(softSimilarity('-', ' - ')).toBe(1);
  });

  it('reads letters of every script, composed or not', () => {
    expect(softSimilarity('Zu\u0308rich', 'Zürich')).toBe(1);
    expect(softSimilarity('東京', '京都')).toBe(0);
  });

  it('is in [0, 1], symmetric, 1 with itself, and blind to the order of words', () => {
    const phrase = fc.array(fc.constantFrom('red', 'blue', 'a', '7', '2.5', '-1', '!', 'é'), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(phrase, phrase, (left, right) => {
        const similarity = softSimilarity(left.join(' '), right.join(' '));
        expect(similarity >= 0 && similarity <= 1).toBe(true);
        expect(softSimilarity(right.join(' '), left.join(' '))).toBe(similarity);
        expect(softSimilarity(left.join(' '), left.join(' '))).toBe(1);
        if (left.some((word) => word !== '!'))
          expect(softSimilarity(left.toReversed().join(' '), right.join(' '))).toBe(similarity);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (left, right) => {
        expect(softSimilarity(left, right)).toBe(softSimilarity(right, left));
        expect(softSimilarity(left, left)).toBe(1);
      }),
    );
  });
});

describe('exactMatch', () => {
  const gold = { name: 'find', arguments: { city: 'Paris', days: [1, 2], strict: true } };

  it('matches the same action, whatever the order of keys', () => {
    expect(exactMatch({ arguments: { strict: true, days: [1, 2], city: 'Paris' }, name: 'find' }, gold)).toBe(
      1,
    );
    expect(exactMatch('T(dbgf)', 'T(dbgf)')).toBe(1);
  });

  it('does not fall for what a scorer can be cheated with', () => {
    const wrong: Action[] = [
      '',
      null,
      [],
      {},
      { arguments: gold.arguments },
      { name: 'find', arguments: { ...gold.arguments, extra: 1 } },
      { name: 'find', arguments: { city: 'Paris', days: [1, 2] } },
      { name: 'find', arguments: { city: 'Paris', days: [2, 1], strict: true } },
      { name: 'find', arguments: { city: 'Paris', days: { 0: 1, 1: 2 }, strict: true } },
      { name: 'find', arguments: { city: 'paris', days: [1, 2], strict: true } },
      { name: 'find', arguments: { city: 'Paris', days: [1, 2], strict: 'true' } },
      JSON.stringify(gold),
    ];
    for (const answer of wrong) expect(exactMatch(answer, gold)).toBe(0);
    expect(exactMatch({ toString: 1 }, { valueOf: 1 })).toBe(0);
    expect(exactMatch({ a: null }, { b: null })).toBe(0);
    expect(exactMatch([null], [])).toBe(0);
  });

  it('is 1 exactly for equal JSON', () => {
    const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Action>;
    const canonical = (value: Action): string =>
      JSON.stringify(value, (_, inner: unknown) =>
        typeof inner === 'object' && inner !== null && !Array.isArray(inner)
          ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
          : inner,
      );
    fc.assert(
      fc.property(json, json, (left, right) => {
        expect(exactMatch(left, JSON.parse(JSON.stringify(left)) as Action)).toBe(1);
        expect(exactMatch(left, right)).toBe(canonical(left) === canonical(right) ? 1 : 0);
      }),
    );
  });
});

describe('exactTextMatch', () => {
  it('ignores case and white space, nothing else', () => {
    expect(exactTextMatch('  New\n York ', 'new york')).toBe(1);
    expect(exactTextMatch('newyork', 'new york')).toBe(0);
    expect(exactTextMatch('2.5', '25')).toBe(0);
    expect(exactTextMatch('', 'x')).toBe(0);
  });
});
