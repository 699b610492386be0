import { expect, it } from 'vitest';
import { slurmArguments } from '../../src/config/slurm.ts';
import { parseQueue, stateOf, waitedMs } from '../../src/training/slurm-queue.ts';
import { FakeSlurm } from '../../test-support/slurm.ts';
import { slurmContract } from './slurm-contract.ts';

slurmContract('training jobs in a fake Slurm', (folder) => Promise.resolve(new FakeSlurm(folder)));

const lines = (state: string, reason = 'None', started = '2026-11-26T17:30:29') =>
  parseQueue(`warning: a plugin\n42|${state}|${reason}|2026-11-26T17:30:24|${started}|a|b#1\n`);

it('a line of squeue is read to its comment, which may hold anything', () => {
  expect(lines('RUNNING')).toEqual([
    {
      ...{ id: '42', state: 'RUNNING', reason: 'None', comment: 'a|b#1' },
      ...{ submitted: '2026-11-26T17:30:24', started: '2026-11-26T17:30:29' },
    },
  ]);
});

it.each([
  ['RUNNING', { state: 'running' }],
  ['COMPLETING', { state: 'running' }],
  ['CONFIGURING', { state: 'queued', reason: 'CONFIGURING' }],
  ['SUSPENDED', { state: 'queued', reason: 'SUSPENDED' }],
  ['COMPLETED', { state: 'ended', reason: 'COMPLETED', code: 0 }],
  ['OUT_OF_MEMORY', { state: 'ended', reason: 'OUT_OF_MEMORY' }],
  ['NODE_FAIL', { state: 'ended', reason: 'NODE_FAIL' }],
])('a job that is %s', (state, expected) => {
  expect(stateOf(lines(state)[0]!)).toEqual(expected);
});

it('a job that waits says why and where, and how long it waited once it has begun', () => {
  const [line] = lines('PENDING', 'Priority', 'N/A');
  expect(stateOf(line!, 3)).toEqual({ state: 'queued', reason: 'Priority', position: 3 });
  expect(waitedMs(line!)).toBeUndefined();
  expect(waitedMs(lines('RUNNING')[0]!)).toBe(5_000);
  expect(waitedMs(lines('CANCELLED', 'None', 'N/A')[0]!)).toBeUndefined();
});

it('an operator adds long options of sbatch, but none that the launcher needs', () => {
  expect(slurmArguments(' --reservation=week  --exclusive ')).toEqual(['--reservation=week', '--exclusive']);
  for (const value of ['--job-name=x', '--output=/etc/passwd', '-p train', '--wrap=id', 'train', '--a;b'])
    expect(() => slurmArguments(value)).toThrow(/GENENV_SLURM_ARGS: got .*; expected long options of sbatch/);
});
