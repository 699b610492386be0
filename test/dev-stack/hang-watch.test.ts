import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HangWatch } from '../../src/dev-stack/hang-watch.ts';
import { stackPaths } from '../../src/dev-stack/record.ts';
import { PolicyServerService } from '../../src/dev-stack/services/policy-server.ts';
import { TrainerPackage } from '../../src/dev-stack/services/trainer.ts';
import { SupervisedService } from '../../src/dev-stack/supervised-service.ts';
import { Python } from '../../src/processes/python.ts';
import { isAlive } from '../../src/runtime/process-identity.ts';
import type { SessionUsage } from '../../src/training/process-activity.ts';
import { HttpService } from './http-service.ts';

const idle: SessionUsage = { cpuMs: 5_000, ioBytes: 0 };

/** Looks every 30 s until it hangs, or for two hours. @returns the minute in which it hangs */
async function minuteOfHang(
  isStuck: (minute: number) => Promise<boolean>,
  usage: (minute: number) => SessionUsage | undefined = () => idle,
): Promise<number | undefined> {
  let minute = 0;
  const readUsage = () => Promise.resolve(usage(minute));
  const watch = new HangWatch(() => isStuck(minute), { readUsage });
  for (; minute <= 120; minute += 0.5) if (await watch.look(7, minute * 60_000)) return minute;
  return undefined;
}
const isAlwaysStuck = (): Promise<boolean> => Promise.resolve(true);

test('a service hangs that says it is stuck for 15 minutes, and does nothing', async () => {
  expect(await minuteOfHang(isAlwaysStuck)).toBe(15);
  expect(await minuteOfHang((minute) => Promise.resolve(minute >= 20))).toBe(35);
});

test('one that is slow does not hang: it works, or is done now and then, or is too busy to answer', async () => {
  const working = (share: number) => (minute: number) => ({ cpuMs: minute * 60_000 * share, ioBytes: 0 });
  expect(await minuteOfHang(isAlwaysStuck, working(0.02))).toBeUndefined();
  const loading = (minute: number) => ({ cpuMs: 0, ioBytes: minute * 4e6 });
  expect(await minuteOfHang(isAlwaysStuck, loading)).toBeUndefined();
  expect(await minuteOfHang((minute) => Promise.resolve(minute % 14 !== 0))).toBeUndefined();
  const silent = (minute: number) =>
    minute % 14 === 0 ? Promise.reject(new Error('ECONNREFUSED')) : Promise.resolve(true);
  expect(await minuteOfHang(silent)).toBeUndefined();
  // No system tells what it uses.
  expect(await minuteOfHang(isAlwaysStuck, () => undefined)).toBeUndefined();
});

test('it is looked at every 30 s, however often it could be', async () => {
  const isStuck = vi.fn(isAlwaysStuck);
  const watch = new HangWatch(isStuck, { readUsage: () => Promise.resolve(idle) });
  for (let second = 0; second < 60; second += 0.1) await watch.look(7, second * 1000);
  expect(isStuck).toHaveBeenCalledTimes(2);
});

test('the policy server is stuck when it says so, and not when it refuses for another reason', async () => {
  let answer = { status: 503, body: JSON.stringify({ status: 'stuck', engine: { busy_seconds: 950 } }) };
  const server = createServer((_, response) => response.writeHead(answer.status).end(answer.body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const ports = { policyServer: (server.address() as AddressInfo).port };
  const python = new Python('python', {});
  const { hangWatch } = new PolicyServerService(new TrainerPackage(python, '', []), stackPaths('/nowhere'), {
    ports,
    token: 'token',
  });
  const sleeper = spawn('sleep', ['1000'], { detached: true });
  onTestFinished(() => void sleeper.kill());
  let seconds = 0;
  const looksUntilHang = async (): Promise<number | undefined> => {
    hangWatch.reset();
    for (let look = 1; look <= 40; look++)
      if (await hangWatch.look(sleeper.pid!, (seconds += 30) * 1000)) return look;
    return undefined;
  };
  expect(await looksUntilHang()).toBe(31);
  answer = { status: 200, body: JSON.stringify({ status: 'ok' }) };
  expect(await looksUntilHang()).toBeUndefined();
  answer = { status: 503, body: JSON.stringify({ error: { message: 'too many connections' } }) };
  expect(await looksUntilHang()).toBeUndefined();
});

test('a service of the stack that hangs is ended and started again, and the log says why', async () => {
  const home = mkdtempSync(join(tmpdir(), 'genenv-hang-'));
  const lines: string[] = [];
  let isStuck = true;
  const hangWatch = new HangWatch(() => Promise.resolve(isStuck), { lookSeconds: 0.2, maxLooks: 3 });
  const service = Object.assign(new HttpService('policy-server', {}, process.env), { hangWatch });
  const pids: { pid: number; started: string }[] = [];
  const supervised = new SupervisedService(service, {
    cwd: home,
    logs: home,
    recorded: undefined,
    record: (process) => process && pids.push(process),
    say: (line) => lines.push(line),
    onGivenUp: (error) => lines.push(error.message),
  });
  onTestFinished(async () => {
    await supervised.stop();
    rmSync(home, { recursive: true, force: true });
  });
  await supervised.start();
  await vi.waitFor(() => expect(pids).toHaveLength(2), { timeout: 50_000, interval: 20 });
  isStuck = false;
  await vi.waitFor(() => expect(lines.join('\n')).toContain('ready again'), { timeout: 50_000 });
  expect(pids.map(isAlive)).toEqual([false, true]);
  expect(lines).toContainEqual(
    expect.stringContaining(
      'policy-server hung (it said that it was stuck, and used no processor) and was ended; starting it again',
    ),
  );
}, 120_000);
