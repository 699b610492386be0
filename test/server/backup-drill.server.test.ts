import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyRun } from '../../src/runs/verify.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import { databases } from '../../test-support/temporal/database-template.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * The drill of docs/operating.md: a run under way is backed up, its machine is lost, it is restored on another
 * one, and ends with the ledger of the run that nobody disturbed.
 */

const minutes = 60_000;
const file = tinyExperiment({ epochs: 3 });
let first: LiveStack;
let backup: string;
let undisturbed: string;

beforeAll(async () => {
  backup = mkdtempSync(join(tmpdir(), 'genenv-backup-'));
  first = await LiveStack.start();
  await first.policyReady();
  await first.startWorker();
  await (await first.startRun('undisturbed', file)).result();
  undisturbed = first.ledger('undisturbed');
}, 15 * minutes);
afterAll(async () => {
  await first[Symbol.asyncDispose]();
  rmSync(backup, { recursive: true, force: true });
}, minutes);

/** Temporal's databases, then the runs, then the store: each names only what is in the ones after it. */
async function backUp({ home, database }: LiveStack): Promise<void> {
  for (const name of databases)
    await database.postgresql!.command('pg_dump', '-Fc', '-f', join(backup, `${name}.dump`), name);
  cpSync(join(home, 'runs'), join(backup, 'runs'), { recursive: true });
  for (const folder of ['objects', 'keys'])
    cpSync(join(home, 'store', folder), join(backup, 'store', folder), { recursive: true });
}

/** Every process is killed where it is, and every file is gone. */
async function lose(stack: LiveStack): Promise<void> {
  const { workers, temporal, policy, trainer, database, home } = stack;
  const processes = [...workers, temporal, policy, trainer, database.postgresql!.server];
  await Promise.all(processes.map((process) => process.stop('SIGKILL')));
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  expect(existsSync(home)).toBe(false);
}

async function restore({ home, database }: LiveStack): Promise<void> {
  for (const name of databases) {
    await database.postgresql!.sql(`drop database ${name} with (force)`, `create database ${name}`);
    await database.postgresql!.command('pg_restore', '--dbname', name, join(backup, `${name}.dump`));
  }
  mkdirSync(join(home, 'store'), { recursive: true });
  cpSync(join(backup, 'runs'), join(home, 'runs'), { recursive: true });
  cpSync(join(backup, 'store'), join(home, 'store'), { recursive: true });
}

test(
  'a run under way is backed up, its machine is lost, and it ends elsewhere with the same ledger',
  async () => {
    await first.startRun('drill', file);
    const ledger = first.run('drill').ledgerFile;
    await until(
      () => existsSync(ledger) && first.entries('drill').length >= 2,
      5 * minutes,
      'the first epoch of the drill',
    );
    await backUp(first);
    expect(first.entries('drill').length, 'it ended before it was lost').toBeLessThan(4);
    await lose(first);

    await using second = await LiveStack.start({}, restore);
    expect(second.home).not.toBe(first.home);
    await second.policyReady();
    await second.startWorker();
    // Nobody starts it again: its workflow is in the restored database.
    const result: unknown = await second.client.workflow.getHandle('drill').result();
    expect(second.ledger('drill')).toBe(undisturbed);
    expect(result).toMatchObject({ outcome: 'finished', epochs: 3 });
    const { problems } = await verifyRun(new ObjectStore(join(second.home, 'store')), second.run('drill'));
    expect(problems).toEqual([]);
  },
  20 * minutes,
);
