import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import { setUpSchema } from '../../test-support/temporal/database-template.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** What happens to Temporal's PostgreSQL under a run: it ends with the ledger of the undisturbed one. */

const minutes = 60_000;
const file = tinyExperiment({ epochs: 2 });
let stack: LiveStack;
let undisturbed: string;

beforeAll(async () => {
  stack = await LiveStack.start();
  await stack.policyReady();
  await stack.startWorker();
  await (await stack.startRun('undisturbed', file)).result();
  undisturbed = stack.ledger('undisturbed');
}, 15 * minutes);
afterAll(async () => stack[Symbol.asyncDispose](), minutes);

const phaseDone = (id: string, epoch: number, phase: string): Promise<void> => {
  const key = join(stack.home, 'store', 'keys', id, String(epoch).padStart(4, '0'), phase);
  return until(() => existsSync(key), 5 * minutes, key);
};

test('the server is the newest one, on PostgreSQL', async () => {
  const { serverVersion } = await stack.client.workflowService.getSystemInfo({});
  expect(serverVersion).toMatch(/^1\.32\./);
  const { postgresql } = stack.database;
  const count = await postgresql!.command('psql', '-Atc', 'select count(*) from history_node', 'temporal');
  expect(Number(count)).toBeGreaterThan(10);
});

test('the schema script changes nothing when it runs again', async () => {
  const { postgresql } = stack.database;
  const dump = () => postgresql!.command('pg_dump', '--schema-only', 'temporal');
  const withoutSalt = (text: string) => text.replace(/^\\(un)?restrict .*$/gm, '');
  const before = withoutSalt(await dump());
  await setUpSchema(postgresql!);
  expect(withoutSalt(await dump())).toBe(before);
});

test(
  'the server lists the workers by their heartbeats, each with its queue',
  async () => {
    const queuesListed = async (): Promise<string[]> => {
      const { workersInfo } = await stack.client.workflowService.listWorkers({
        namespace: stack.namespace,
        pageSize: 100,
      });
      return [...new Set(workersInfo.map(({ workerHeartbeat }) => workerHeartbeat?.taskQueue ?? ''))].sort();
    };
    const expected = Object.values(queues).sort();
    await until(
      async () => JSON.stringify(await queuesListed()) === JSON.stringify(expected),
      3 * minutes,
      'a heartbeat of each worker',
    );
  },
  4 * minutes,
);

test.each<[string, NodeJS.Signals, string]>([
  ['killed', 'SIGKILL', 'roll-out'],
  ['shut down at once', 'SIGQUIT', 'draw'],
])(
  'PostgreSQL is %s in the middle of an epoch, and started again',
  async (_, signal, phase) => {
    const id = `postgresql-${signal}`;
    const { postgresql } = stack.database;
    await stack.startRun(id, file);
    await phaseDone(id, 1, phase);
    await postgresql!.stop(signal);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await postgresql!.restart();
    await stack.client.workflow.getHandle(id).result();
    expect(stack.ledger(id)).toBe(undisturbed);
  },
  10 * minutes,
);

test(
  'Temporal fails over to a copy of PostgreSQL that was made an epoch ago',
  async () => {
    const { database } = stack;
    const id = 'failed-over';
    await stack.startRun(id, file);
    await phaseDone(id, 1, 'draw');
    await stack.temporal.stop('SIGKILL');
    await database.copyDatabase('backup');
    stack.startTemporal();
    await stack.connect();
    await phaseDone(id, 2, 'draw');
    await stack.temporal.stop('SIGKILL');
    await database.restoreDatabase('backup');
    stack.startTemporal();
    await stack.connect();
    await stack.client.workflow.getHandle(id).result();
    expect(stack.ledger(id)).toBe(undisturbed);
  },
  10 * minutes,
);
