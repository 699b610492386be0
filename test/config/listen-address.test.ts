import { expect, test } from 'vitest';
import { listenNames } from '../../src/config/listen-address.ts';

const loopback = ['127.0.0.1:7244', 'localhost:7244', '[::1]:7244'];

test.each([
  ['127.0.0.1', [], '127.0.0.1:7244', []],
  ['192.168.1.5', [], '192.168.1.5:7244', ['192.168.1.5:7244']],
  ['::1', [], '[::1]:7244', []],
  ['fd00::5', [], '[fd00::5]:7244', ['[fd00::5]:7244']],
  ['GPU-1', [], 'GPU-1:7244', ['gpu-1:7244']],
  ['0.0.0.0', ['GPU-1:7244', 'b:1'], 'GPU-1:7244', ['gpu-1:7244', 'b:1']],
  ['::', [], '127.0.0.1:7244', []],
])('on %s, allowed %j, it is asked under %s', (host, allowed, shown, more) => {
  const names = listenNames(host, 7244, allowed);
  expect(names.shown).toBe(shown);
  expect(new Set(names.hosts)).toEqual(new Set([...loopback, ...more]));
});
