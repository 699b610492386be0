import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { databases } from '../../test-support/temporal/database-template.ts';
import type { TemporalOnDisk } from '../../test-support/temporal/temporal-on-disk.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * The drill of docs/operating.md: a run under way is backed up, its machine is lost, it is restored on another
 * one, and ends with the ledger of the run that nobody disturbed. Temporal, PostgreSQL, the worker and all
 * files are real; what samples and trains is not, so that many epochs take seconds.
 */

const minutes = 60_000;
const epochs = 16;
const file = withFields(tinyExperiment(), { epochs, 'durability.epochsPerRun': 6 });
const { world } = parseExperiment(file);
let first: InstantStack;
let backup: string;
let undisturbed: string;

const start = (stack: InstantStack, workflowId: string) =>
  stack.client.workflow.start('experiment', { args: [file], workflowId, taskQueue: queues.workflows });
const ledger = (stack: InstantStack, id: string): string => readFileSync(stack.run(id).ledgerFile, 'utf8');
const lines = (stack: InstantStack, id: string): number =>
  existsSync(stack.run(id).ledgerFile) ? ledger(stack, id).trim().split('\n').length : 0;

beforeAll(async () => {
  backup = mkdtempSync(join(tmpdir(), 'genenv-backup-'));
  first = await InstantStack.start(world);
  await (await start(first, 'undisturbed')).result();
  undisturbed = ledger(first, 'undisturbed');
}, 15 * minutes);
afterAll(async () => {
  await first[Symbol.asyncDispose]();
  rmSync(backup, { recursive: true, force: true });
}, minutes);

/** Temporal's databases, then the runs, then the store: each names only what is in those after it. */
async function backUp({ home, database }: InstantStack): Promise<void> {
  for (const name of databases)
    await database.postgresql!.command('pg_dump', '-Fc', '-f', join(backup, `${name}.dump`), name);
  cpSync(join(home, 'runs'), join(backup, 'runs'), { recursive: true });
  for (const folder of ['objects', 'keys'])
    cpSync(join(home, 'store', folder), join(backup, 'store', folder), { recursive: true });
}

/** Every process is killed where it is, and every file is gone. */
async function lose({ worker, temporal, database, home }: InstantStack): Promise<void> {
  const processes = [worker, temporal, database.postgresql!.server];
  await Promise.all(processes.map((process) => process.stop('SIGKILL')));
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  expect(existsSync(home)).toBe(false);
}

async function restore(home: string, { postgresql }: TemporalOnDisk): Promise<void> {
  for (const name of databases) {
    await postgresql!.sql(`drop database ${name} with (force)`, `create database ${name}`);
    await postgresql!.command('pg_restore', '--dbname', name, join(backup, `${name}.dump`));
  }
  for (const folder of ['runs', 'store'])
    cpSync(join(backup, folder), join(home, folder), { recursive: true });
}

test(
  'a run under way is backed up, its machine is lost, and it ends elsewhere with the same ledger',
  async () => {
    await start(first, 'drill');
    await until(() => lines(first, 'drill') >= 4, 10 * minutes, 'some epochs of the drill');
    await backUp(first);
    await lose(first);

    await using second = await InstantStack.start(world, { restore });
    expect(second.home).not.toBe(first.home);
    expect(lines(second, 'drill'), 'epochs in the backup').toBeLessThan(epochs + 1);
    // Nobody starts it again: its workflow is in the restored database.
    const result: unknown = await second.client.workflow.getHandle('drill').result();
    expect(ledger(second, 'drill')).toBe(undisturbed);
    expect(result).toMatchObject({ outcome: 'finished', epochs });
    const { problems } = await verifyRun(new ObjectStore(join(second.home, 'store')), second.run('drill'));
    expect(problems).toEqual([]);
  },
  20 * minutes,
);
