import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { enginePython } from '../../src/benchmarks/registry.ts';

test('our decoder reads what the official one reads: all gold texts and benign ones, and refuses what it refuses', async () => {
  const check = fileURLToPath(new URL('bfcl_sidecar_check.py', import.meta.url));
  const output = execFileSync((await enginePython('bfcl'))!, ['-X', 'utf8', '-s', check, 'decoder'], {
    encoding: 'utf8',
  });
  const { texts, refused, different } = JSON.parse(output) as {
    texts: number;
    refused: number;
    different: [text: string, official: string, ours: string][];
  };
  expect(texts).toBeGreaterThan(2000);
  expect(refused).toBeGreaterThan(20);
  expect(different).toEqual([
    // What only text formatting and bits of numbers would be good for; the official decoder evaluates them.
    ["[f(a='%s' % 1)]", "[{'f': {'a': '1'}}]", 'refused'],
    ['[f(a=1|2)]', "[{'f': {'a': 3}}]", 'refused'],
  ]);
});
