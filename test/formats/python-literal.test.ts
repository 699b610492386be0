import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLiteral, readLiteral } from '../../src/formats/python-literal.ts';

describe('literals of Python', () => {
  it.each([
    ["'it''s'", undefined],
    [String.raw`'it\'s\n\d'`, "it's\n\\d"],
    ['"it\'s"', "it's"],
    ['[1, -2.5, 1e3, .5,]', [1, -2.5, 1000, 0.5]],
    ['{\'a\': (True, None), "b": {}}', { a: [true, null], b: {} }],
    [' [ ] ', []],
    ["{'a': 1, 'a': 2}", { a: 2 }],
    [String.raw`'é\x41\b\f\/\u12'`, 'éA\b\f/\\u12'],
    [
      String.raw`{'a': None, "b": [True, false,], 'c': 'it\'s é\x41\n'}`,
      { a: null, b: [true, false], c: "it's éA\n" },
    ],
    ['1.2.3', undefined],
    ['Truely', undefined],
    ['{1: 2}', undefined],
    ["{'a' 1}", undefined],
    ['[1 2]', undefined],
    ['[1', undefined],
    ['', undefined],
    ["__import__('os')", undefined],
    ['1 + 1', undefined],
    ['['.repeat(5000), undefined],
  ])('%j', (text, value) => expect(parseLiteral(text.slice(0, 5000))).toEqual(value));

  // A second for 10,000 digits if each way to cut them in two is tried.
  it.each([
    ['digits', '1', 'x'],
    ['digits and a point', '1', '.x'],
    ['decimals', '1', '1.1x'],
    ['an exponent', '1', 'e1x'],
  ])('that end as no number are refused in linear time: %s', (_, digit, end) => {
    expect(parseLiteral(digit.repeat(100_000) + end)).toBeUndefined();
    expect(parseLiteral(`1.${digit.repeat(100_000)}${end}`)).toBeUndefined();
    expect(parseLiteral(`1e${digit.repeat(100_000)}${end}`)).toBeUndefined();
  });

  it('never make a prototype', () => {
    const value = parseLiteral("{'__proto__': {'x': 1}}") as object;
    expect([Object.keys(value), (value as { x?: number }).x, Object.getPrototypeOf(value)]).toEqual([
      ['__proto__'],
      undefined,
      Object.prototype,
    ]);
  });

  it('are JSON where JSON is one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseLiteral(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('end within the text, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'[]{}()\'",: \\nT1.-e') }), (text) => {
        const read = readLiteral(text, 0);
        expect(read === undefined || (read.end > 0 && read.end <= text.length)).toBe(true);
      }),
    );
  });
});
