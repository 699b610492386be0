import { expect, test } from 'vitest';
import { originSchema } from '../../src/runs/file-schemas.ts';
import { machineKind, processorText } from '../../src/runs/machine-kind.ts';

const cpuinfo = (model: number, flags: string): string =>
  `processor\t: 0\ncpu family\t: 25\nmodel\t\t: ${model}\nmodel name\t: AMD EPYC\nflags\t\t: ${flags}\n\nprocessor\t: 1\n`;

test('processors of one name that compute other bits are of different kinds', () => {
  expect(processorText('AMD EPYC', cpuinfo(1, 'fpu avx avx2 fma'))).toBe(
    'AMD EPYC (family 25, model 1, avx2)',
  );
  expect(processorText('AMD EPYC', cpuinfo(17, 'fpu avx avx2 avx512f'))).toBe(
    'AMD EPYC (family 25, model 17, avx512f)',
  );
});

test('without numbers the name stands alone, and without markup', () => {
  expect(processorText('Apple M3', '')).toBe('Apple M3');
  expect(processorText('A <b> `c`', '')).toBe('A  b   c');
  expect(processorText(undefined, '')).toBe('unknown processor');
});

test('a line of a run can name this machine', async () => {
  const machine = await machineKind();
  expect(() => originSchema.parse({ home: '0000000a', machine })).not.toThrow();
});
