import { expect, test } from 'vitest';
import { escapeControls, plainText } from '../../src/formats/plain-text.ts';
import { errorText } from '../../src/telemetry/error-text.ts';

test('an ordinary text of several lines stays as it is', () => {
  const text = 'Größe: 3\n\tfür 日本語 und 🙂';
  expect(plainText(text)).toBe(text);
});

test('what a terminal obeys, and what turns the direction of a text, is written out', () => {
  expect(escapeControls('\u001b]0;OWNED\u0007\u001b[31m')).toBe('\\u001b]0;OWNED\\u0007\\u001b[31m');
  expect(escapeControls('a\rb\0c\u009bd\u202ee\u2066f\u2028g')).toBe(
    'a\\u000db\\u0000c\\u009bd\\u202ee\\u2066f\\u2028g',
  );
  expect(escapeControls('half \ud83d of a pair')).toBe('half \ufffd of a pair');
});

test.each([
  ['x', 2_001],
  ['x', 6_000_000],
  ['\u001b', 2_000],
  ['\u001b', 6_000_000],
  ['🙂', 3_000],
])('a text of %j, %i times, has 2,000 characters at most, and says how many it had', (character, count) => {
  const text = character.repeat(count);
  const plain = plainText(text);
  expect(plain.length).toBeLessThanOrEqual(2_000);
  expect(plain.length).toBeGreaterThan(1_950);
  expect(plain).toMatch(new RegExp(`\\.\\.\\. \\(${text.length} characters\\)$`));
  expect(plain.isWellFormed()).toBe(true);
});

test('the log has stacks and causes of an error, bounded and plain', () => {
  const root = new Error(`refused \u001b[2J${' '.repeat(6_000_000)}`);
  const text = errorText(new Error('the phase failed', { cause: root }));
  expect(text).toMatch(/^Error: the phase failed\n +at .*\ncaused by: Error: refused \\u001b\[2J/s);
  expect(text.length).toBeLessThan(20_000);
  expect(errorText({ status: 500 })).toContain('status: 500');
  const endless = new Error('round');
  endless.cause = endless;
  expect(errorText(endless).length).toBeLessThan(50_000);
});
