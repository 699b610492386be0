import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withFields } from '../../test-support/experiments.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import { runEnds } from '../../test-support/run-ends.ts';
import { VersityGateway, versityGatewayPath } from '../../test-support/versity-gateway.ts';
import { genenv } from '../cli/genenv-process.ts';
import { read } from '../infra/repository.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

/** The laptop run, shortened, with real models that are trained, on two hosts that share Temporal and a bucket. */

const id = 'laptop-hosts';
const laptop = JSON.parse(read('experiments/laptop.json')) as Record<string, unknown>;
const file = withFields(laptop, { epochs: 2, 'evaluation.every': 1 });
const patience = 900_000;

async function ledgerOnDisk(): Promise<string> {
  await using stack = await LiveStack.start();
  await stack.policyReady();
  await stack.startWorker();
  await stack.startRun(id, file);
  await runEnds(stack.client, id, patience);
  return stack.ledger(id);
}

test.skipIf(versityGatewayPath() === null)(
  'the laptop run on two hosts ends with the ledger of one disk, though the host that trains is lost',
  async () => {
    const expected = await ledgerOnDisk();
    await using gateway = await VersityGateway.start(await temporaryFolder());
    const useBucket = (home: string) =>
      writeFile(join(home, 'store.json'), JSON.stringify(gateway.settings('team')));
    await using first = await LiveStack.start(gateway.environment);
    await using second = await first.addHost(gateway.environment);
    for (const host of [first, second]) await useBucket(host.home);
    for (const host of [first, second]) await host.policyReady();

    const lost = await first.startWorker();
    await first.startRun(id, file);
    const bucket = gateway.bucket('team');
    const trains = async (): Promise<boolean> =>
      (await bucket.list(`store/work/${id}/`)).some(({ key }) => /\/0001-train-[^/]+\/fence\//.test(key));
    await until(trains, patience, 'a training job of epoch 1');
    await second.startWorker();
    // The first host is lost with worker, trainer and policy server, and never comes back.
    await Promise.all([lost, first.trainer, first.policy].map((process) => process.stop('SIGKILL')));
    await runEnds(first.client, id, patience);

    // A third host has nothing but the bucket.
    const home = await temporaryFolder();
    await useBucket(home);
    const environment = { ...gateway.environment, GENENV_HOME: home };
    expect(await genenv(['verify', id], environment)).toMatchObject({ code: 0 });
    expect(await readFile(join(home, 'runs', id, 'ledger.jsonl'), 'utf8')).toBe(expected);
  },
  4 * patience,
);
