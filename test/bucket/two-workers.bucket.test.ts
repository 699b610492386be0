import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { versityGatewayPath, VersityGateway } from '../../test-support/versity-gateway.ts';
import { genenv } from '../cli/genenv-process.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const id = 'bucket-run';
const EPOCHS = 6;
const file = withFields(tinyExperiment(), { epochs: EPOCHS });
const patience = 400_000;

const start = (stack: InstantStack) =>
  stack.client.workflow.start('experiment', { args: [file], workflowId: id, taskQueue: queues.workflows });

async function ledgerOnDisk(): Promise<string> {
  await using stack = await InstantStack.start(parseExperiment(file).world);
  await (await start(stack)).result();
  return await readFile(stack.run(id).ledgerFile, 'utf8');
}

describe.skipIf(versityGatewayPath() === null)('workers with separate disks and a real S3 server', () => {
  test(
    'a run ends with the ledger of the same run on a disk, though worker, server and a disk are lost',
    async () => {
      const expected = await ledgerOnDisk();
      await using gateway = await VersityGateway.start(await temporaryFolder());
      const homes = [await temporaryFolder(), await temporaryFolder()] as const;
      for (const home of homes)
        await writeFile(join(home, 'store.json'), JSON.stringify(gateway.settings('team')));
      await using stack = await InstantStack.start(parseExperiment(file).world, {
        home: homes[0],
        environment: gateway.environment,
      });
      await using second = await stack.addWorker({ GENENV_HOME: homes[1] });
      const handle = await start(stack);
      const committed = async (epoch: number): Promise<void> => {
        const isCommitted = async () =>
          (
            await gateway
              .bucket('team')
              .list(`runs/${id}/ledger/`)
              .catch(() => [])
          ).length > epoch;
        await until(isCommitted, patience, `epoch ${epoch}`);
      };
      await committed(1);
      await stack.killWorker();
      await committed(2);
      await gateway.kill();
      await gateway.restart();
      await committed(3);
      // The disk of the second host is lost with all that it had copies of; `store.json` is its operator's.
      for (const name of await readdir(homes[1]))
        if (name !== 'store.json')
          await rm(join(homes[1], name), { recursive: true, force: true, maxRetries: 10 });
      await mkdir(join(homes[1], 'stack', 'devices'), { recursive: true });
      await handle.result();
      expect(second.alive).toBe(true);

      // A third host has nothing but the bucket.
      const home = await temporaryFolder();
      await writeFile(join(home, 'store.json'), JSON.stringify(gateway.settings('team')));
      const environment = { ...gateway.environment, GENENV_HOME: home };
      const verified = await genenv(['verify', id], environment);
      expect(verified).toMatchObject({ code: 0 });
      expect(verified.out).toMatch(new RegExp(`${id}: whole. ${EPOCHS + 1} ledger lines`));
      expect(await readFile(join(home, 'runs', id, 'ledger.jsonl'), 'utf8')).toBe(expected);
      expect(await genenv(['gc'], environment)).toMatchObject({ code: 0 });
      expect(await genenv(['verify', id], environment)).toMatchObject({ code: 0 });
      // Each host ran some of it.
      for (const host of homes) expect(await readdir(join(host, 'store'))).toContain('objects');
    },
    3 * patience,
  );
});
