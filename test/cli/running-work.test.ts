import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { readAllWork } from '../../src/cli/lib/all-work.ts';
import { workTables } from '../../src/cli/lib/work-status.ts';
import type { RunningWorkflow } from '../../src/cli/lib/work-status.ts';
import type { ComparisonProgress } from '../../src/types/comparison-types.ts';
import type { EvaluationProgress } from '../../src/types/evaluation-types.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const started = new Date('2026-11-27T04:00:00Z');
const outage = {
  server: 'http://m:1/v1',
  reason: 'answered 503',
  tries: 3,
  since: '2026-11-27T05:00:00.000Z',
};

/**
 * A client of a server where workflows run and answer with their progress; `statuses` are of those that ended.
 */
function clientOf(
  running: readonly Omit<RunningWorkflow, 'started'>[],
  progress: Readonly<Record<string, unknown>>,
  statuses: Readonly<Record<string, string>> = {},
): Client {
  const listed =
    <Item>(items: readonly Item[]) =>
    () =>
      items[Symbol.iterator]();
  return {
    withDeadline: (_deadline: unknown, call: () => Promise<unknown>) => call(),
    schedule: { list: listed([]) },
    workflow: {
      list: listed(running.map(({ id, type }) => ({ workflowId: id, type, startTime: started }))),
      getHandle: (id: string) => ({
        query: () =>
          id in progress ? Promise.resolve(progress[id]) : Promise.reject(new Error('no worker')),
        describe: () => {
          const name = id in progress ? 'RUNNING' : statuses[id];
          return name === undefined
            ? Promise.reject(new WorkflowNotFoundError('none', id, undefined))
            : Promise.resolve({ status: { name } });
        },
      }),
    },
  } as unknown as Client;
}

const asking: EvaluationProgress = {
  evaluation: 'first-one',
  status: 'asking',
  shards: 8,
  answered: 3,
  judged: 2,
  skipped: [],
  waiting: null,
};
const comparing: ComparisonProgress = {
  comparison: 'main',
  status: 'running',
  runs: 12,
  done: 5,
  running: ['main.a.1'],
  failed: [{ id: 'main.b.1', reason: 'x' }],
  waiting: [],
};

test('what runs says how far it is, what it waits for, since when, and how to watch it', async () => {
  const home = await temporaryFolder();
  for (const name of ['laptop', 'lap', 'laptop-2026'])
    await mkdir(join(home, 'nightly', name), { recursive: true });
  const client = clientOf(
    [
      { id: 'first-one', type: 'evaluation' },
      { id: 'away', type: 'evaluation' },
      { id: 'silent', type: 'evaluation' },
      { id: 'main', type: 'comparison' },
      { id: 'laptop-2026-11-27T04:00:00Z', type: 'nightly' },
      { id: 'lap-top-2026-11-27T04:00:00Z', type: 'nightly' },
    ],
    {
      'first-one': asking,
      away: { ...asking, answered: 0, judged: 0, waiting: outage },
      main: comparing,
      'laptop-night-0001': { epoch: 7, epochs: 20, phase: 'roll out' },
    },
  );
  const works = await readAllWork(home, client, {});
  const row = (id: string) => works.find((work) => work.id === id);
  expect(row('first-one')).toMatchObject({
    kind: 'evaluation',
    state: 'running',
    progress: 'asking: 3 of 8 shards answered, 2 judged',
    time: started.toISOString(),
    command: 'npx genenv status first-one --watch',
  });
  expect(row('away')!.progress).toMatch(/^waiting for http:\/\/m:1\/v1: answered 503, 3 tries/);
  expect(row('silent')).toMatchObject({ state: 'running', progress: 'no worker answers' });
  expect(row('main')).toMatchObject({ kind: 'comparison', progress: 'running: 5 of 12 runs done, 1 failed' });
  expect(row('laptop-night-0001')).toMatchObject({
    kind: 'night',
    state: 'running',
    progress: 'epoch 7 of 20',
  });
  expect(works.filter(({ kind }) => kind === 'night')).toHaveLength(1);
  for (const line of workTables(works, {}).split('\n')) expect(line.length).toBeLessThanOrEqual(110);
});

test.each([
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
  ['TERMINATED', 'terminated'],
])('an evaluation without results whose workflow is %s is %s', async (status, state) => {
  const home = await temporaryFolder();
  await mkdir(join(home, 'evaluations/ended'), { recursive: true });
  const [work] = await readAllWork(home, clientOf([], {}, { ended: status }), {});
  expect(work).toMatchObject({ id: 'ended', state });
  expect(work!.command).toMatch(/^npx genenv evaluate \S+\/evaluation\.json --id ended$/);
});
