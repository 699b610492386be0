import { spawn } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import { endProcess, hasGroup, waitForEnd } from '../../src/dev-stack/processes.ts';
import { identify, isAlive } from '../../src/runtime/process-identity.ts';
import type { ProcessIdentity } from '../../src/runtime/process-identity.ts';

/** A process in a group of its own, once it runs. */
async function started(script: string): Promise<ProcessIdentity> {
  const child = spawn(
    process.execPath,
    ['-e', `${script};setInterval(() => undefined, 1000);console.log('up')`],
    { detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return identify(child.pid ?? 0) ?? { pid: 0, started: 'ended' };
}

test('a process may answer SIGTERM in its own time', async () => {
  const process = await started('process.on("SIGTERM", () => setTimeout(() => process.exit(), 200))');
  expect(await endProcess(process, { graceSeconds: 10 })).toBe('ended');
  expect(isAlive(process)).toBe(false);
});

test('a second Ctrl-C cuts the grace time short', async () => {
  const process = await started('process.on("SIGTERM", () => undefined)');
  const hurry = new AbortController();
  setTimeout(() => hurry.abort(), 200);
  const begun = performance.now();
  expect(await endProcess(process, { graceSeconds: 60, hurry: hurry.signal })).toBe('killed');
  expect(performance.now() - begun).toBeLessThan(5_000);
  expect(isAlive(process)).toBe(false);
});

test('an unreaped rest of a process is not alive', async () => {
  // The parent never waits for its child.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 20'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number(await new Promise<Buffer>((resolve) => parent.stdout.once('data', resolve)));
  expect(identify(pid)).not.toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(identify(pid)).toBeNull();
  parent.kill();
});

test.each(['process.exit()', 'undefined'])(
  'what it started in its group ends with it (SIGTERM does: %s)',
  async (answer) => {
    const child =
      'const child = require("node:child_process").spawn("sleep", ["60"]); console.log(child.pid)';
    const parent = spawn(
      process.execPath,
      ['-e', `${child};process.on("SIGTERM", () => ${answer});setInterval(() => undefined, 1000)`],
      { detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const grandchild = identify(
      Number(await new Promise<Buffer>((resolve) => parent.stdout.once('data', resolve))),
    );
    const target = identify(parent.pid ?? 0);
    if (grandchild === null || target === null) throw new Error('it has not started');
    await endProcess(target, { graceSeconds: 1 });
    expect(await waitForEnd(grandchild, 2)).toBe(true);
  },
);

test('what a killed process started in its group ends when the stack looks after it again', async () => {
  const child = 'const child = require("node:child_process").spawn("sleep", ["60"]); console.log(child.pid)';
  const parent = spawn(process.execPath, ['-e', `${child};setInterval(() => undefined, 1000)`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = await new Promise<Buffer>((resolve) => parent.stdout.once('data', resolve));
  const [grandchild, target] = [identify(Number(output)), identify(parent.pid ?? 0)];
  if (grandchild === null || target === null) throw new Error('it has not started');
  parent.kill('SIGKILL');
  await waitForEnd(target, 2);
  expect([isAlive(target), hasGroup(target)]).toEqual([false, true]);
  if (process.platform === 'linux')
    expect(hasGroup({ ...target, started: 'of an earlier boot' })).toBe(false);
  expect(await endProcess(target, { graceSeconds: 1 })).toBe('ended');
  expect(await waitForEnd(grandchild, 2)).toBe(true);
  // What has ended counts until the system has removed it.
  await vi.waitFor(() => expect(hasGroup(target)).toBe(false), 5_000);
  expect(hasGroup({ pid: process.pid, started: 'long ago' })).toBe(false);
});
