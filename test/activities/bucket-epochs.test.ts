import { mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { estimateBucket } from '../../src/runs/bucket-estimate.ts';
import type { BucketEstimate } from '../../src/runs/bucket-estimate.ts';
import { shareHome } from '../../src/runs/connect-store.ts';
import { estimateResources } from '../../src/runs/resource-estimate.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { S3Fault } from '../../test-support/fake-s3.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { fakeToolboxModel } from '../../test-support/fake-toolbox-model.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import type { Activities } from '../../test-support/plain-epochs.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { smallFile } from './some-run.ts';

const EPOCHS = 3;
const id = 'some-run';

/** Each call goes to the next host. */
function alternate(hosts: readonly Activities[]): Activities {
  let calls = 0;
  const names = Object.keys(hosts[0]!) as (keyof Activities)[];
  return Object.fromEntries(
    names.map((name) => [
      name,
      (...input: unknown[]) =>
        (hosts[calls++ % hosts.length]![name] as (...args: unknown[]) => unknown)(...input),
    ]),
  ) as unknown as Activities;
}

/** Runs epochs on hosts that take turns. @param between called after each epoch */
async function runOn(
  homes: readonly string[],
  between: (epoch: number) => Promise<void> = () => Promise.resolve(),
) {
  const world = parseExperiment(smallFile).world;
  await using server = await FakeModelServer.start({ model: fakeToolboxModel(world), seedRule: 'embedded' });
  const trainer = new FakeTrainer();
  const hosts = homes.map((home) => createActivities(plainDependencies(home, server.url, trainer)));
  const activities = alternate(hosts);
  const { plan, prepared } = await begin(activities, id, smallFile);
  let last = prepared;
  for (let epoch = 1; epoch <= EPOCHS; epoch += 1) {
    last = await plainEpoch(activities, plan, last);
    await between(epoch);
  }
  const run = new RunFolder(join(homes[0]!, 'runs'), id);
  await run.refresh();
  return await readFile(run.ledgerFile, 'utf8');
}

test('a run of two hosts that share a bucket alone has the ledger of a run on one disk', async () => {
  const expected = await runOn([await memoryFolder()]);
  await using s3 = await FakeS3.start();
  const homes = [await memoryFolder(), await memoryFolder()];
  for (const home of homes)
    shareHome(s3.bucket('team'), { store: join(home, 'store'), runs: join(home, 'runs') });
  // Of epoch 0, what another host has finished.
  const earlier = join(homes[0]!, 'store', 'work', id, `0000-train-agent-${'0'.repeat(12)}`);
  await mkdir(earlier, { recursive: true });
  const ledger = await runOn(homes, async (epoch) => {
    if (epoch !== 2) return;
    // The disk of a host is lost.
    for (const name of await readdir(homes[1]!)) await rm(join(homes[1]!, name), { recursive: true });
  });
  expect(ledger.trim().split('\n')).toHaveLength(EPOCHS + 1);
  expect(ledger).toBe(expected);
  const store = new ObjectStore(join(homes[1]!, 'store'));
  const report = await verifyRun(store, new RunFolder(join(homes[1]!, 'runs'), id));
  expect(report).toMatchObject({ lines: EPOCHS + 1, problems: [] });
  // No work is left: what was recorded is done.
  await expect(readdir(earlier)).rejects.toThrow('ENOENT');
  expect([...s3.objects.keys()].filter((key) => key.includes('/work/'))).toEqual([]);
}, 240_000);

test('answers that are lost, a busy server and cut downloads change nothing', async () => {
  const expected = await runOn([await memoryFolder()]);
  await using s3 = await FakeS3.start();
  const homes = [await memoryFolder(), await memoryFolder()];
  for (const home of homes) shareHome(s3.bucket(), { store: join(home, 'store'), runs: join(home, 'runs') });
  const requests: Record<string, number> = {};
  const faults: Record<string, number> = {};
  s3.fault = ({ method }) => {
    const count = (requests[method] = (requests[method] ?? 0) + 1);
    // One method after the other, so that a request that is sent again meets no second fault.
    const fault = faultOf(method, count);
    if (fault !== undefined) faults[fault] = (faults[fault] ?? 0) + 1;
    return fault;
  };
  expect(await runOn(homes)).toBe(expected);
  for (const fault of ['lost', 'busy', 'cut', 'conflict']) expect(faults[fault]).toBeGreaterThan(1);
}, 240_000);

function faultOf(method: string, count: number): S3Fault | undefined {
  if (method === 'PUT' && count % 19 === 0) return 'lost';
  if (method === 'PUT' && count % 31 === 0) return 'conflict';
  if (method === 'GET' && count % 17 === 0) return 'cut';
  return count % 53 === 0 ? 'busy' : undefined;
}

test('objects and requests of an epoch are about what a dry run says', async () => {
  await using s3 = await FakeS3.start();
  const home = await memoryFolder();
  shareHome(s3.bucket(), { store: join(home, 'store'), runs: join(home, 'runs') });
  const counted: Record<string, number>[] = [];
  await runOn([home], () => {
    counted.push({ ...s3.counts, objects: s3.objects.size });
    return Promise.resolve();
  });
  const [first, last] = [counted[0]!, counted.at(-1)!];
  const measured = (name: string): number => (last[name]! - first[name]!) / (EPOCHS - 1);
  const estimates = [1, 2].map((epochs) => {
    const experiment = parseExperiment({ ...smallFile, epochs });
    return estimateBucket(experiment, estimateResources(experiment, createWorld(experiment.world)));
  });
  const estimated = (name: keyof BucketEstimate): number => estimates[1]![name] - estimates[0]![name];
  // The fake trainer writes two folders of one file and its manifest, the real one two of ten files in all.
  const left = 2 * (10 - 4);
  for (const [name, count] of [
    ['objects', estimated('objects') - left],
    ['PUT', estimated('writes') - left],
    ['GET', estimated('reads')],
    ['LIST', estimated('lists')],
    ['DELETE', estimated('removals')],
  ] as const) {
    expect(measured(name) / count, name).toBeGreaterThan(0.8);
    expect(measured(name) / count, name).toBeLessThan(1.2);
  }
}, 120_000);
