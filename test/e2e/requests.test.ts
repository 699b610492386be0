import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { writeReport } from '../../src/report/write-report.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { TestProcess, until } from '../../test-support/processes.ts';
import { reportData } from '../../test-support/report-data.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from '../cli/genenv-process.ts';

/** Who asked for what, of real workflows, by the clients of people and by the plain Temporal CLI. */

// Continued as new after each epoch.
const file = withFields(tinyExperiment(), { epochs: 3, 'durability.epochsPerRun': 1 });
let stack: InstantStack;
let connection: Connection;

beforeAll(async () => {
  stack = await InstantStack.start(parseExperiment(file).world);
  connection = await Connection.connect({ address: stack.address });
}, 480_000);
afterAll(async () => {
  await connection.close();
  await stack[Symbol.asyncDispose]();
}, 60_000);

const run = (id: string): RunFolder => new RunFolder(join(stack.home, 'runs'), id);
const start = (id: string, identity: string, content: unknown = file) =>
  new Client({ connection, identity }).workflow.start('experiment', {
    args: [content],
    workflowId: id,
    taskQueue: queues.workflows,
  });
const command = (...args: string[]) =>
  genenv([...args, '--address', stack.address], { GENENV_HOME: stack.home, GENENV_IDENTITY: 'carol@desk' });
async function temporal(...args: string[]): Promise<string> {
  const cli = new TestProcess(temporalPath(), ['--address', stack.address, ...args], {
    env: process.env,
    cwd: repository,
    log: join(stack.home, 'cli.log'),
  });
  expect([await cli.exited, cli.output]).toEqual([0, expect.any(String)]);
  return cli.output;
}
const requests = async (id: string): Promise<unknown[]> =>
  (await run(id).events())
    .filter(({ type }) => type === 'requested')
    .map(({ request, identity }) => [request, identity]);
/** Who asked for what, as the run's report has it. */
async function reportedRequests(id: string): Promise<[request: string, identity: string][]> {
  await writeReport({ home: stack.home, runId: id });
  const { view } = reportData(readFileSync(run(id).reportFile, 'utf8'));
  return view.history.requests.map(({ request, identity }) => [request, identity]);
}

test('the events of a run, its status and its report name who asked, whatever asked', async () => {
  const handle = await start('asked', 'ann@laptop');
  const bob = new Client({ connection, identity: 'bob@ops <img src=x>\u202e' });
  await bob.workflow.getHandle('asked').executeUpdate('pause');
  // Before any activity has recorded it.
  const status = await command('status', 'asked');
  expect(status.out).toMatch(/asked +.*: start, ann@laptop\n.*: pause, bob@ops <img src=x>\?\n/);
  expect(await command('retune', 'asked', 'difficulty.alpha=0.41')).toMatchObject({ code: 0 });
  expect(await command('resume', 'asked', '--identity', 'dan@desk')).toMatchObject({ code: 0 });
  // The CLI's own name is its process: its --identity does not reach an update (1.5.1).
  await temporal('workflow', 'update', 'execute', '--workflow-id', 'asked', '--name', 'pause');
  await temporal('workflow', 'update', 'execute', '--workflow-id', 'asked', '--name', 'resume');
  expect(await handle.result()).toMatchObject({ outcome: 'finished', epochs: 3 });
  const expected = [
    ['start', 'ann@laptop'],
    ['pause', 'bob@ops <img src=x>?'],
    ['retune', 'carol@desk'],
    ['resume', 'dan@desk'],
    ['pause', expect.stringMatching(/^\d+@/)],
    ['resume', expect.stringMatching(/^\d+@/)],
  ];
  expect(await requests('asked')).toEqual(expected);
  // The ledger is the one that Temporal's result names, until its end is cut.
  expect(await command('verify', 'asked', '--temporal')).toMatchObject({ code: 0 });
  const ledger = readFileSync(run('asked').ledgerFile, 'utf8');
  writeFileSync(run('asked').ledgerFile, `${ledger.trimEnd().split('\n').slice(0, -1).join('\n')}\n`);
  const cut = await command('verify', 'asked', '--temporal');
  expect(cut).toMatchObject({ code: 1, err: expect.stringContaining('which the ledger does not') as string });
  writeFileSync(run('asked').ledgerFile, ledger);
  const identities = (await reportedRequests('asked')).map(([, identity]) => identity);
  expect(identities).toContainEqual(expect.stringContaining('bob@ops <img src=x>?'));
  // In the page the text is data of its script, never markup.
  expect(readFileSync(run('asked').reportFile, 'utf8')).not.toContain('bob@ops <img');
}, 480_000);

test('a stop, a cancellation, a reset and a rewind are recorded once each, after a restart too', async () => {
  const handle = await start('ended', 'ann@laptop', withFields(file, { epochs: 200 }));
  await until(async () => (await requests('ended')).length > 0, 120_000, 'the first request');
  await temporal(
    ...['workflow', 'reset', '--workflow-id', 'ended', '--type', 'FirstWorkflowTask', '--reason', 'test'],
    ...['--identity', 'eve@ops'],
  );
  await stack.killWorker();
  await until(async () => (await requests('ended')).length > 1, 240_000, 'the reset');
  expect(await command('cancel', 'ended')).toMatchObject({ code: 0 });
  await stack.client.workflow
    .getHandle(handle.workflowId)
    .result()
    .catch(() => undefined);
  await start('ended', 'ann@laptop', withFields(file, { epochs: 200 }));
  expect(await command('stop', 'ended')).toMatchObject({ code: 0 });
  await stack.client.workflow.getHandle(handle.workflowId).result();
  expect(await command('rewind', 'ended', '--epoch', '1')).toMatchObject({ code: 0 });
  expect(await requests('ended')).toEqual([
    ['start', 'ann@laptop'],
    // Servers up to 1.29 do not keep who asked for a reset.
    ['reset', expect.stringMatching(/^(eve@ops|history-service)$/)],
    ['cancel', 'carol@desk'],
    ['start', 'ann@laptop'],
    ['stopAfterEpoch', 'carol@desk'],
    ['rewind', 'carol@desk'],
  ]);
}, 480_000);

test('a fork names who asked for it, in its own events and report', async () => {
  await (await start('parent', 'ann@laptop')).result();
  expect(await command('fork', 'parent', '--epoch', '1', '--id', 'forked')).toMatchObject({ code: 0 });
  expect(await requests('forked')).toEqual([['start', 'carol@desk']]);
  expect(await reportedRequests('forked')).toContainEqual(['start', 'carol@desk']);
  expect(JSON.stringify(await reportedRequests('forked'))).not.toContain('ann@laptop');
}, 480_000);

test('a run that a night starts, and promotes, names the night, and who started that', async () => {
  const result: unknown = await new Client({ connection, identity: 'ann@laptop' }).workflow.execute(
    'nightly',
    {
      args: [{ name: 'nights', epochsPerNight: 1, experiment: withFields(file, { name: 'nights' }) }],
      workflowId: 'night-by-hand',
      taskQueue: queues.workflows,
    },
  );
  const [night] = await RunFolder.list(join(stack.home, 'runs')).then((folders) =>
    folders.filter(({ id }) => id.startsWith('nights')),
  );
  expect(result).toMatchObject({ outcome: 'promoted', candidate: { run: night!.id, epoch: 1 } });
  expect(await requests(night!.id)).toEqual([['start', 'ann@laptop, by night-by-hand']]);
  expect(await reportedRequests(night!.id)).toContainEqual(['start', 'ann@laptop, by night-by-hand']);
}, 480_000);
