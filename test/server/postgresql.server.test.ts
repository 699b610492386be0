import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { setUpSchema } from '../../test-support/temporal/database-template.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** What happens to Temporal's PostgreSQL under a run: it ends with the ledger of the undisturbed one. */

const minutes = 60_000;
const epochs = 10;
const file = withFields(tinyExperiment(), { epochs });
let stack: InstantStack;
let undisturbed: string;

const start = (workflowId: string) =>
  stack.client.workflow.start('experiment', { args: [file], workflowId, taskQueue: queues.workflows });
const ledger = (id: string): string => readFileSync(stack.run(id).ledgerFile, 'utf8');
const committed = (id: string, lines: number): Promise<void> =>
  until(
    () => existsSync(stack.run(id).ledgerFile) && ledger(id).trim().split('\n').length >= lines,
    5 * minutes,
    `${lines} lines in the ledger of ${id}`,
  );
/** Whether what is done to it is done to a run under way. */
const isRunning = async (id: string): Promise<boolean> =>
  (await stack.client.workflow.getHandle(id).describe()).status.name === 'RUNNING';

beforeAll(async () => {
  stack = await InstantStack.start(parseExperiment(file).world);
  await (await start('undisturbed')).result();
  undisturbed = ledger('undisturbed');
}, 15 * minutes);
afterAll(async () => stack[Symbol.asyncDispose](), minutes);

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
        namespace: 'default',
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

test(
  'experiments that wait for one queue take turns, whichever came first',
  async () => {
    const short = withFields(file, { epochs: 1 });
    const ids = ['a', 'b', 'c', 'd', 'e'].map((letter) => `fair-${letter}`);
    await stack.killWorker('workflows,cpu,gpu');
    const handles = ids.map((id) => stack.client.workflow.getHandle(id));
    for (const [index, id] of ids.entries()) {
      const args = [short];
      await stack.client.workflow.start('experiment', { args, workflowId: id, taskQueue: queues.workflows });
      await until(
        async () =>
          ((await handles[index]!.describe()).raw.pendingActivities ?? []).length === 2 &&
          (await handles[index]!.describe()).raw.pendingActivities!.every(
            ({ activityType }) => activityType?.name === 'publishPolicy',
          ),
        5 * minutes,
        `two policies of ${id} that wait to be published`,
      );
    }
    await stack.killWorker();
    await Promise.all(handles.map((handle) => handle.result()));
    const starts = await Promise.all(
      handles.map(async (handle) => {
        const events = (await handle.fetchHistory()).events ?? [];
        const published = new Set(
          events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
            scheduled?.activityType?.name === 'publishPolicy' ? [String(eventId)] : [],
          ),
        );
        return events.flatMap(({ eventTime, activityTaskStartedEventAttributes: started }) =>
          started && published.has(String(started.scheduledEventId))
            ? [
                {
                  id: handle.workflowId,
                  at: Number(eventTime?.seconds) * 1e3 + (eventTime?.nanos ?? 0) / 1e6,
                },
              ]
            : [],
        );
      }),
    );
    const order = starts.flat().sort((left, right) => left.at - right.at);
    expect(order).toHaveLength(10);
    // First come, first served: the first five would be of three experiments.
    expect(new Set(order.slice(0, 5).map(({ id }) => id)).size).toBeGreaterThanOrEqual(4);
  },
  15 * minutes,
);

test.each<[string, NodeJS.Signals]>([
  ['killed', 'SIGKILL'],
  ['shut down at once', 'SIGQUIT'],
])(
  'PostgreSQL is %s under a run, and started again',
  async (_, signal) => {
    const id = `postgresql-${signal}`;
    const { postgresql } = stack.database;
    await start(id);
    await committed(id, 3);
    expect(await isRunning(id)).toBe(true);
    await postgresql!.stop(signal);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await postgresql!.restart();
    await stack.client.workflow.getHandle(id).result();
    expect(ledger(id)).toBe(undisturbed);
  },
  10 * minutes,
);

test(
  'Temporal fails over to a copy of PostgreSQL that is some epochs old',
  async () => {
    const { database } = stack;
    const id = 'failed-over';
    await start(id);
    await committed(id, 2);
    await stack.temporal.stop('SIGKILL');
    await database.copyDatabase('backup');
    await stack.restartTemporal();
    await committed(id, 5);
    expect(await isRunning(id)).toBe(true);
    await stack.temporal.stop('SIGKILL');
    await database.restoreDatabase('backup');
    await stack.restartTemporal();
    await stack.client.workflow.getHandle(id).result();
    expect(ledger(id)).toBe(undisturbed);
  },
  10 * minutes,
);
