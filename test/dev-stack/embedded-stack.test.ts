import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { markedProcesses } from '../../src/dev-stack/leftovers.ts';
import { tryPort } from '../../src/dev-stack/ports.ts';
import { isAlive } from '../../src/runtime/process-identity.ts';
import { readStackRecord, stackPaths, writeStackRecord } from '../../src/dev-stack/record.ts';
import type { RecordedProcess, ServiceName } from '../../src/dev-stack/record.ts';

const script = fileURLToPath(new URL('run-stack.ts', import.meta.url));
let home: string;
let supervisors: Supervisor[];

interface Supervisor {
  child: ChildProcess;
  says: (text: string) => Promise<void>;
  ended: Promise<number | null>;
  output: () => string;
}

function supervisor(worker = ''): Supervisor {
  const child = spawn(process.execPath, [script, home, worker], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const says = (text: string) =>
    vi.waitFor(() => expect(output).toContain(text), { timeout: 50_000, interval: 20 });
  const stack = { child, says, ended, output: () => output };
  supervisors.push(stack);
  return stack;
}
const record = () => readStackRecord(stackPaths(home).record);
const recorded = (name: ServiceName): RecordedProcess => {
  const process = record().processes[name];
  if (process === undefined) throw new Error(`${name} is not recorded`);
  return process;
};
const processes = () => Object.values(record().processes);

beforeEach(() => {
  supervisors = [];
  home = mkdtempSync(join(tmpdir(), 'genenv-stack-'));
});
afterEach(async () => {
  for (const { child, ended } of supervisors) {
    child.kill('SIGKILL');
    await ended;
  }
  for (const { pid } of markedProcesses(home)) process.kill(pid, 'SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

describe('the embedded stack', () => {
  test('comes up on free ports, keeps closed workflows for 30 days and more, and leaves no process behind', async () => {
    const taken = createServer()
      .listen(7233, '127.0.0.1')
      .on('error', () => undefined);
    const stack = supervisor();
    await stack.says('up');
    const { addresses, state } = record();
    expect(state).toBe('ready');
    expect(addresses?.temporal).not.toContain(':7233');
    expect((await fetch(addresses?.ui ?? '')).ok).toBe(true);
    const connection = await Connection.connect({ address: addresses?.temporal ?? '' });
    const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBeGreaterThanOrEqual(30 * 24 * 3600);
    await connection.close();
    expect(markedProcesses(home)).toHaveLength(3);

    stack.child.kill('SIGTERM');
    expect(await stack.ended).toBe(0);
    expect(markedProcesses(home)).toEqual([]);
    expect(record()).toMatchObject({ state: 'stopped', owner: null, processes: {} });
    taken.close();
  });

  test('a second one in the same home is refused and told who runs the first', async () => {
    const first = supervisor();
    await first.says('up');
    const before = processes();
    const second = spawn(process.execPath, [script, home], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    second.stderr.on('data', (data: Buffer) => (errors += data.toString()));
    await new Promise((resolve) => second.on('close', resolve));
    expect(errors).toContain(
      `StackInUse: \`genenv run\` (process ${first.child.pid}) runs the stack of ${home}`,
    );
    expect(processes()).toEqual(before);
    expect(before.every(isAlive)).toBe(true);
  });

  test('after a killed supervisor the next one takes over what runs as it should, and ends the rest', async () => {
    const first = supervisor('/* one version */');
    await first.says('up');
    const [temporal, worker] = [recorded('temporal'), recorded('worker')];
    const { addresses } = record();
    first.child.kill('SIGKILL');
    await first.ended;
    expect(processes().every(isAlive)).toBe(true);

    const second = supervisor('/* another version */');
    await second.says('up');
    expect(second.output()).toContain('Temporal server: still running, taken over');
    expect(second.output()).toContain('worker: ending the one that an earlier stack left');
    expect(recorded('temporal')).toEqual(temporal);
    expect(record().addresses).toEqual(addresses);
    expect(isAlive(worker)).toBe(false);
    expect(markedProcesses(home)).toHaveLength(3);

    second.child.kill('SIGTERM');
    await second.ended;
    expect(markedProcesses(home)).toEqual([]);
    expect(isAlive(temporal)).toBe(false);
  });

  test('never touches a process that only has the number of a recorded one', async () => {
    const foreign = spawn('sleep', ['60']);
    writeStackRecord(stackPaths(home).record, {
      ...record(),
      processes: { worker: { pid: foreign.pid ?? 0, started: 'long ago', fingerprint: '' } },
    });
    const stack = supervisor();
    await stack.says('up');
    stack.child.kill('SIGTERM');
    await stack.ended;
    expect(foreign.exitCode ?? foreign.signalCode).toBeNull();
    foreign.kill();
  });

  test('a process that dies is started again on its port', async () => {
    const stack = supervisor();
    await stack.says('up');
    const before = recorded('temporal');
    const address = record().addresses?.temporal ?? '';
    process.kill(before.pid, 'SIGKILL');
    await vi.waitFor(async () => {
      expect(recorded('temporal')).not.toEqual(before);
      const connection = await Connection.connect({ address, connectTimeout: 500 });
      await connection.close();
    }, 20_000);
    expect(stack.output()).toContain('Temporal server ended by SIGKILL; starting it again');
  });

  test('a full disk for its record, and a reader of its lines that has ended, fail no restart and no end', async () => {
    const stack = supervisor();
    await stack.says('up');
    const [worker, trainer] = [recorded('worker'), recorded('trainer')];
    // In the place of the file that becomes the record.
    const obstacle = `${stackPaths(home).record}.${stack.child.pid}`;
    mkdirSync(obstacle);
    process.kill(worker.pid, 'SIGKILL');
    await stack.says('worker: ready again');
    expect(stack.output()).toContain("the stack's record was not written: EISDIR");
    rmSync(obstacle, { recursive: true });
    stack.child.stdout?.destroy();
    process.kill(trainer.pid, 'SIGKILL');
    await vi.waitFor(() => expect(recorded('trainer')).not.toEqual(trainer), 20_000);
    mkdirSync(obstacle);
    stack.child.kill('SIGTERM');
    expect(await stack.ended).toBe(0);
    expect(markedProcesses(home)).toEqual([]);
  });

  test('a process that keeps dying is given up with the end of its log, and all others end', async () => {
    const stack = supervisor('process.stderr.write("no such world"); process.exit(1)');
    await stack.says('failed: worker: started 5 times, and each time it ended with exit code 1.');
    expect(stack.output()).toContain('no such world');
    expect(await stack.ended).toBe(1);
    expect(markedProcesses(home)).toEqual([]);
  });

  test('one that ignores SIGTERM is killed after its grace time, with what it started', async () => {
    const stack = supervisor(
      'process.on("SIGTERM", () => undefined); require("node:child_process").spawn("sleep", ["100"])',
    );
    await stack.says('up');
    expect(markedProcesses(home)).toHaveLength(4);
    stack.child.kill('SIGTERM');
    expect(await stack.ended).toBe(0);
    expect(stack.output()).toContain('worker did not end within 1 s and was killed');
    expect(markedProcesses(home)).toEqual([]);
  });

  test('a database whose schema was never finished is made again', async () => {
    const paths = stackPaths(home);
    mkdirSync(paths.folder);
    writeFileSync(paths.database, 'torn');
    const stack = supervisor();
    await stack.says('up');
  });
});

test('a port that is taken is told from one that is free', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as { port: number };
  expect(await tryPort(address.port)).toBeNull();
  await new Promise((resolve) => server.close(resolve));
  expect(await tryPort(address.port)).toBe(address.port);
});
