import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLiteral, readLiteral } from '../../src/benchmarks/python-literal.ts';

describe('literals of Python', () => {
  it.each([
    ["'it''s'", undefined],
    [String.raw`'it\'s\n\d'`, "it's\n\\d"],
    ['"it\'s"', "it's"],
    ['[1, -2.5, 1e3, .5,]', [1, -2.5, 1000, 0.5]],
    ["{'a': (True, None), \"b\": {}}", { a: [true, null], b: {} }],
    [' [ ] ', []],
    ["{'a': 1, 'a': 2}", { a: 2 }],
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

  it('never make a prototype', () => {
    const value = parseLiteral("{'__proto__': {'x': 1}}") as object;
    expect([Object.keys(value), (value as { x?: number }).x]).toEqual([['__proto__'], undefined]);
  });

  it('are JSON where JSON is one', () => {
    // Without what the two escape differently.
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      if (!/\\[^"\\nrt]/.test(text)) expect(parseLiteral(text)).toEqual(JSON.parse(text));
    }));
  });

  it('end within the text, whatever it is', () => {
    fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'[]{}()\'",: \\nT1.-e') }), (text) => {
      const read = readLiteral(text, 0);
      expect(read === undefined || (read.end > 0 && read.end <= text.length)).toBe(true);
    }));
  });
});
