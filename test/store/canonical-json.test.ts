import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, hashOf, sha256 } from '../../src/store/canonical-json.ts';
import { NotSerializable } from '../../src/store/errors.ts';

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 });

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reversed(field)]),
  );
}

describe('canonical JSON', () => {
  test('carries every JSON value unchanged', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('is its own canonical form', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  test('writes the example of RFC 8785', () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    ) as unknown;
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test('sorts keys by UTF-16 code unit, as RFC 8785 does', () => {
    const keys = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'];
    const text = canonicalJson(Object.fromEntries([...keys].reverse().map((key) => [key, 0])));
    expect(text).toBe(`{${keys.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`);
  });

  const sparse = [1, 2, 3];
  // eslint-disable-next-line @typescript-eslint/no-array-delete
  delete sparse[1];
  const circular: Record<string, unknown> = {};
  circular.self = circular;

  test.each([
    ['undefined', { a: [{ b: undefined }] }, '$.a[0].b', 'undefined'],
    ['NaN', { metrics: { loss: NaN } }, '$.metrics.loss', 'NaN'],
    ['an infinity', [1, [2, -Infinity]], '$[1][1]', '-Infinity'],
    ['a hole', sparse, '$[1]', 'undefined'],
    ['a bigint', { n: 3n }, '$.n', '3'],
    ['a date', { at: new Date() }, '$.at', 'a Date'],
    ['a typed array', { ids: new Int32Array(2) }, '$.ids', 'a Int32Array'],
    ['half a surrogate pair', { text: 'x\ud83d' }, '$.text', 'toWellFormed'],
    ['a cycle', circular, '$.self', 'refers to itself'],
  ])('refuses %s and says where', (_, value, path, shown) => {
    const attempt = () => canonicalJson(value);
    expect(attempt).toThrow(NotSerializable);
    expect(attempt).toThrow(path);
    expect(attempt).toThrow(shown);
  });

  test('hashes are those of the standard tools', () => {
    expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(hashOf({ b: 1, a: 'é' })).toBe(sha256(Buffer.from('{"a":"é","b":1}')));
  });
});
