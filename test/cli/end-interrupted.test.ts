import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporalPath } from '../../infra/setup/locations.mjs';
import { createNightSchedule, listNightSchedules } from '../../src/cli/lib/schedules.ts';
import { endInterrupted } from '../../src/cli/lib/end-interrupted.ts';
import { freePort } from '../../test-support/free-port.ts';
import { TestProcess, until } from '../../test-support/processes.ts';

// A real server, with workflows that wait. What `run --only` then does: run.test.ts.
const MINUTE = 60_000;
const taskQueue = 'waiting';
let home: string;
let address: string;
let server: TestProcess;
let client: Client;
let worker: Worker;
let stopped: Promise<void>;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'genenv-only-'));
  const port = await freePort();
  address = `127.0.0.1:${port}`;
  server = new TestProcess(
    temporalPath(),
    ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'warn'],
    { env: process.env, cwd: home, log: join(home, 'temporal.log') },
  );
  const connect = () => NativeConnection.connect({ address }).catch(() => undefined);
  let connection: NativeConnection | undefined;
  await until(async () => (connection = await connect()) !== undefined, MINUTE, 'the server');
  if (connection === undefined) throw new Error('no connection');
  client = new Client({ connection: await Connection.connect({ address }) });
  worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('../../test-support/waiting-workflows.ts', import.meta.url)),
  });
  stopped = worker.run();
}, 2 * MINUTE);
afterAll(async () => {
  worker.shutdown();
  await stopped;
  await client.connection.close();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

const running = async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' }))
    ids.push(workflowId);
  return ids.sort();
};
const start = async (type: string, workflowId: string, ...args: unknown[]): Promise<void> => {
  await client.workflow.start(type, { taskQueue, workflowId, args });
};
const endOthers = async (own: string): Promise<string[]> => {
  const said: string[] = [];
  await endInterrupted({ address, namespace: 'default', options: {} }, own, (line) => said.push(line));
  return said;
};
const runningAre = (ids: string[]) =>
  until(async () => (await running()).join() === ids.join(), MINUTE, `${ids.join()} to run`);

test('ends other runs with their parts, and neither its own, nor workflows and schedules that are not runs', async () => {
  await start('experiment', 'mine');
  await start('experiment', 'left');
  await start('nightly', 'night-1');
  await start('comparison', 'arms', ['arms.a', 'arms.b']);
  await start('elsewhere', 'foreign');
  await createNightSchedule(client, {
    id: 'nights',
    name: 'night',
    file: {},
    spec: { cronExpressions: ['0 2 * * *'] },
  });
  await runningAre(['arms', 'arms.a', 'arms.b', 'foreign', 'left', 'mine', 'night-1']);

  const [line, ...more] = await endOthers('mine');
  expect(more).toEqual([]);
  expect(
    line
      ?.replace(/^.*: /, '')
      .split(/, (?=\S+ \()/)
      .sort(),
  ).toEqual([
    'arms (continued by npx genenv compare FILE)',
    'left (continued by npx genenv resume left)',
    'night-1 (continued by its next night)',
  ]);
  await runningAre(['foreign', 'mine']);
  const { status } = await client.workflow.getHandle('arms.b').describe();
  expect(status.name).toBe('TERMINATED');
  expect(await listNightSchedules(client)).toMatchObject([{ id: 'nights', paused: false }]);
  expect(await endOthers('mine')).toEqual([]);
});

test('keeps the parts of its own; a part of something else ends with that', async () => {
  await start('comparison', 'own', ['own.a']);
  await start('comparison', 'other', ['other.a', 'other.b']);
  await runningAre(['foreign', 'mine', 'other', 'other.a', 'other.b', 'own', 'own.a']);
  await endOthers('own');
  await runningAre(['foreign', 'own', 'own.a']);

  expect(await endOthers('own.a')).toEqual([
    'Interrupted earlier and left as they are: own (continued by npx genenv compare FILE)',
  ]);
  const { status } = await client.workflow.getHandle('own.a').describe();
  expect(status.name).toBe('TERMINATED');
});
