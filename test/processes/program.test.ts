import { expect, it } from 'vitest';
import { runProgram } from '../../src/processes/program.ts';

const env = { PATH: process.env.PATH ?? '' };

it.each([
  ['ends well', ['-c', 'echo yes'], { code: 0, stdout: 'yes\n', stderr: '' }],
  ['fails', ['-c', 'echo no >&2; exit 3'], { code: 3, stdout: '', stderr: 'no\n' }],
  [
    'takes too long',
    ['-c', 'exec sleep 60'],
    { code: null, stdout: '', stderr: 'sh timed out after 500 ms' },
  ],
])('a program that %s', async (_, args, end) => {
  expect(await runProgram('sh', args, { env, timeoutMs: 500 })).toEqual(end);
});

it('a program that is not there', async () => {
  const end = await runProgram('no-such-program', [], { env, timeoutMs: 10_000 });
  expect(end).toMatchObject({ stdout: '', stderr: 'spawn no-such-program ENOENT' });
  expect(end.code).not.toBe(0);
});
