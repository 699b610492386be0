import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { sessionUsage, WorkMeter } from '../../src/training/process-activity.ts';

/** Looks once a second, at a session that uses so many milliseconds and bytes a second. */
async function workSeen(seconds: number, use: { cpuMs: number; ioBytes?: number }): Promise<number> {
  let second = 0;
  const meter = new WorkMeter(() =>
    Promise.resolve({
      // As Linux counts.
      cpuMs: Math.floor((second * use.cpuMs) / 10) * 10,
      ioBytes: second * (use.ioBytes ?? 0),
    }),
  );
  let seen = 0;
  for (; second <= seconds; second++) if (await meter.hasWorked(7, second * 1000)) seen += 1;
  return seen;
}

test('a process that polls does not work; one that computes does, on however busy a machine, and so does one that loads', async () => {
  expect(await workSeen(600, { cpuMs: 0 })).toBe(0);
  expect(await workSeen(600, { cpuMs: 6 })).toBe(0);
  expect(await workSeen(600, { cpuMs: 15 })).toBeGreaterThan(100);
  expect(await workSeen(600, { cpuMs: 900 })).toBe(600);
  expect(await workSeen(600, { cpuMs: 2, ioBytes: 1 << 20 })).toBe(600);
});

test('children that lead sessions of their own count with theirs', async () => {
  const burn = 'while (process.cpuUsage().user < 200_000);';
  const command = `setsid sh -c "${JSON.stringify(process.execPath).replaceAll('"', '')} -e '${burn}'; echo done; sleep 60" & wait`;
  const child = spawn('sh', ['-c', command], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  expect((await sessionUsage(child.pid!))!.cpuMs).toBeGreaterThanOrEqual(100);
  const children = await readFile(`/proc/${child.pid!}/task/${child.pid!}/children`, 'utf8');
  for (const pid of children.trim().split(' ')) process.kill(-Number(pid), 'SIGKILL');
  process.kill(-child.pid!, 'SIGKILL');
});

test('the usage of a session has its children, those that have ended too; of no session there is none', async () => {
  const burn = 'while (process.cpuUsage().user < 200_000);';
  const child = spawn('sh', ['-c', `${JSON.stringify(process.execPath)} -e '${burn}'; echo done; sleep 60`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  expect((await sessionUsage(child.pid!))!.cpuMs).toBeGreaterThanOrEqual(100);
  process.kill(-child.pid!, 'SIGKILL');
  // No process has an id as large as this.
  expect(await sessionUsage(2 ** 30)).toBeUndefined();
});
