import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { TemporalSource, workflowAddress } from '../../src/cli/lib/temporal-source.ts';
import type { TemporalServer } from '../../src/cli/lib/temporal-source.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from '../tracking/growing-run.ts';

const underWay = { epoch: 1, isFinished: false };

test('runs are shown by their files once Temporal is away, and only the first of them waits for it', async () => {
  const connection = Connection.lazy({ address: '127.0.0.1:1' });
  const source = new TemporalSource({ client: new Client({ connection }), ui: 'http://ui' }, () =>
    Promise.resolve(null),
  );
  const home = await memoryFolder();
  const states: string[] = [];
  const started = Date.now();
  for (const id of ['a', 'b', 'c', 'd']) {
    const { folder } = await GrowingRun.start(home, id);
    states.push((await source.live(folder, underWay)).state);
  }
  expect(states).toEqual(['interrupted', 'interrupted', 'interrupted', 'interrupted']);
  expect(Date.now() - started).toBeLessThan(6_000);
});

test('a server that is started later is found', async () => {
  const handle = {
    describe: () => Promise.resolve({ status: { name: 'RUNNING' }, raw: {} }),
    query: () => Promise.reject(new Error('no worker')),
  };
  const client = {
    options: { namespace: 'default' },
    withDeadline: (_: number, ask: () => unknown) => ask(),
    workflowService: { describeNamespace: () => Promise.resolve({}) },
    workflow: { getHandle: () => handle },
  } as unknown as Client;
  const answers: (TemporalServer | null)[] = [null, { client, ui: 'http://ui' }];
  const source = new TemporalSource(null, () => Promise.resolve(answers.shift() ?? null));
  const { folder } = await GrowingRun.start(await memoryFolder(), 'a');
  expect(await source.live(folder, underWay)).toMatchObject({ state: 'interrupted', temporalUi: null });
  await expect
    .poll(() => source.live(folder, underWay), { timeout: 10_000, interval: 500 })
    .toMatchObject({ state: 'running', temporalUi: 'http://ui/namespaces/default/workflows/a' });
});

test('a workflow is addressed by its id, whatever is in it', () => {
  expect(workflowAddress('http://ui', 'a/epoch-1')).toBe(
    'http://ui/namespaces/default/workflows/a%2Fepoch-1',
  );
});
