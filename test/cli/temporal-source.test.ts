import { Client, Connection, ServiceError } from '@temporalio/client';
import { expect, onTestFinished, test, vi } from 'vitest';
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

/** A server on which all runs run; it answers no question about those in `slow`, and none at all if `isSilent`. */
class SomeServer {
  readonly slow = new Set<string>();
  isSilent = false;
  /** A code of gRPC that it refuses everything with. */
  refusal: number | null = null;
  described = 0;
  readonly server: TemporalServer = {
    client: {
      options: { namespace: 'default' },
      withDeadline: (_: number, ask: () => unknown) => ask(),
      workflowService: { describeNamespace: () => this.#answer({}) },
      workflow: {
        getHandle: (id: string) => ({
          describe: () => {
            this.described += 1;
            return this.#answer({ status: { name: 'RUNNING' }, raw: {} }, this.slow.has(id));
          },
          query: () => Promise.reject(new Error('no worker')),
        }),
      },
    } as unknown as Client,
    ui: 'http://ui',
  };

  #answer<T>(answer: T, isSlow = false): Promise<T> {
    if (this.refusal !== null) {
      const refused = { code: this.refusal, details: '', metadata: {} };
      return Promise.reject(Object.assign(new Error('7 PERMISSION_DENIED: the key has expired'), refused));
    }
    const late = Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4, details: '', metadata: {} });
    return this.isSilent || isSlow
      ? Promise.reject(new ServiceError('Failed to describe', { cause: late }))
      : Promise.resolve(answer);
  }
}

const someRun = async (id: string, home?: string) =>
  (await GrowingRun.start(home ?? (await memoryFolder()), id)).folder;

test('a server that is started later is found', async () => {
  const { server } = new SomeServer();
  const answers: (TemporalServer | null)[] = [null, server];
  const source = new TemporalSource(null, () => Promise.resolve(answers.shift() ?? null));
  const folder = await someRun('a');
  expect(await source.live(folder, underWay)).toMatchObject({ state: 'interrupted', temporalUi: null });
  await expect
    .poll(() => source.live(folder, underWay), { timeout: 10_000, interval: 500 })
    .toMatchObject({ state: 'running', temporalUi: 'http://ui/namespaces/default/workflows/a' });
});

test('one slow answer leaves the state of that run open, and says nothing of the others', async () => {
  const temporal = new SomeServer();
  temporal.slow.add('a');
  const source = new TemporalSource(temporal.server, () => Promise.resolve(temporal.server));
  const home = await memoryFolder();
  expect(await source.live(await someRun('a', home), underWay)).toMatchObject({
    state: 'unreadable',
    resumeCommand: null,
    problem: 'Temporal has not answered: Failed to describe: 4 DEADLINE_EXCEEDED',
  });
  expect(await source.live(await someRun('b', home), underWay)).toMatchObject({ state: 'running' });
  temporal.slow.clear();
  expect(await source.live(await someRun('a', home), underWay)).toMatchObject({ state: 'running' });
});

test('while a server does not answer, files say how a run ended, and no command starts it a second time', async () => {
  const temporal = new SomeServer();
  temporal.isSilent = true;
  const source = new TemporalSource(temporal.server, () => Promise.resolve(temporal.server));
  const home = await memoryFolder();
  const running = await someRun('running', home);
  const stopped = await someRun('stopped', home);
  await stopped.appendEvent({ type: 'ended', outcome: 'stopped' });
  const silent = { resumeCommand: null, problem: expect.stringContaining('does not answer') as string };
  expect(await source.live(running, underWay)).toMatchObject({ state: 'unreadable', ...silent });
  expect(await source.live(stopped, underWay)).toMatchObject({ state: 'stopped', ...silent });
  expect(await source.live(running, { epoch: 9, isFinished: true })).toMatchObject({ state: 'finished' });
  // Nobody waits for it again.
  expect(temporal.described).toBe(1);
  temporal.isSilent = false;
  await expect
    .poll(() => source.live(running, underWay), { timeout: 10_000, interval: 500 })
    .toMatchObject({ state: 'running' });
});

test('a server that refuses is not said to be silent', async () => {
  const temporal = new SomeServer();
  temporal.refusal = 7;
  const source = new TemporalSource(temporal.server, () => Promise.resolve(temporal.server));
  expect(await source.live(await someRun('a'), underWay)).toMatchObject({
    state: 'unreadable',
    resumeCommand: null,
    problem:
      'Temporal refused: 7 PERMISSION_DENIED: the key has expired; what is shown is as the files of the run say.',
  });
});

test('a server is looked for by one search at a time', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  let searches = 0;
  const source = new TemporalSource(null, () => {
    searches += 1;
    return new Promise(() => undefined);
  });
  const folder = await someRun('a');
  for (let minute = 0; minute < 3; minute++) {
    await source.live(folder, underWay);
    vi.setSystemTime(Date.now() + 60_000);
  }
  expect(searches).toBe(1);
});

test('the command that resumes a run names the server', async () => {
  const options = { address: 'a:7233', namespace: 'team' };
  const source = new TemporalSource(null, () => Promise.resolve(null), options);
  expect(await source.live(await someRun('a'), underWay)).toMatchObject({
    resumeCommand: 'npx genenv resume a --address a:7233 --namespace team',
  });
});

test('a workflow is addressed by its id, whatever is in it', () => {
  expect(workflowAddress('http://ui', 'a/epoch-1')).toBe(
    'http://ui/namespaces/default/workflows/a%2Fepoch-1',
  );
});
