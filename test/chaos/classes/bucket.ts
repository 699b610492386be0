import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../../test-support/processes.ts';
import type { FaultClass } from '../fault-class.ts';
import { jobsOf } from '../oracle.ts';
import type { S3ProxyFault } from '../s3-proxy.ts';
import { epochActivities, patience } from '../scene.ts';
import type { Scene } from '../scene.ts';

const row = 'bucket busy, cut, away; disk of its host lost';
/** Whether a result was there is not known here, since the disk has no copy of it. */
const allowed = { activities: 4 };

const spoiled = (name: string, fault: S3ProxyFault): FaultClass => ({
  name: `bucket: ${name}`,
  row,
  stack: 'bucket',
  async inject(scene) {
    const { proxy } = scene.stack.bucket!;
    const count = 1 + scene.random.int(8);
    await scene.begin();
    await scene.anyMoment();
    proxy.spoil(...Array.from({ length: count }, () => fault));
    await until(async () => proxy.struck === count || (await scene.isOver()), patience, `${count} faults`);
    return { back: Date.now(), allowed };
  },
});

/** All that a host has copies of; whoever works there is lost with it. */
async function loseDisk({ stack, id }: Scene): Promise<void> {
  await stack.worker!.stop('SIGKILL');
  for (const pid of jobsOf(stack.live.home, stack.path('store', 'work', id))) process.kill(pid, 'SIGKILL');
  for (const folder of [stack.path('store'), stack.path('runs')])
    for (const name of await readdir(folder))
      if (name !== 'served') await rm(join(folder, name), { recursive: true, force: true });
}

export const bucketClasses: FaultClass[] = [
  spoiled('answers to writes lost', 'lost'),
  spoiled('downloads cut', 'cut'),
  {
    name: 'bucket: busy for seconds (503)',
    row,
    stack: 'bucket',
    async inject(scene) {
      await scene.begin();
      await scene.anyMoment();
      const ms = 500 + scene.random.int(8_000);
      scene.stack.bucket!.proxy.storm(ms);
      await scene.pause(ms);
      return { back: Date.now(), allowed };
    },
  },
  {
    name: 'bucket: its server killed and restarted',
    row,
    stack: 'bucket',
    async inject(scene) {
      const { gateway } = scene.stack.bucket!;
      await scene.begin();
      await scene.anyMoment();
      await gateway.kill();
      await scene.pause(scene.random.int(8_000));
      await gateway.restart();
      return { back: Date.now(), allowed };
    },
  },
  {
    name: 'bucket: worker killed, and its disk lost',
    row,
    stack: 'bucket',
    ofWorker: true,
    async inject(scene) {
      await scene.begin();
      await scene.anyMoment();
      await loseDisk(scene);
      // The shards that it had under way, and the steps since the last checkpoint that was sent.
      return { back: await scene.newWorker(), allowed: { requests: 16, steps: 4, ...allowed } };
    },
  },
  {
    name: 'bucket: two hosts claim the same fencing token at once',
    row,
    stack: 'bucket',
    async inject(scene) {
      const { proxy } = scene.stack.bucket!;
      await scene.begin();
      // Before what the training jobs of the epoch claim at the latest.
      await scene.begun(scene.random.pick(epochActivities.slice(0, epochActivities.indexOf('trainAgent'))));
      proxy.pairClaims();
      await until(() => proxy.holdsClaim, patience, 'a claim');
      // Its attempt ends, since no heartbeat comes, and the other host makes the next one.
      scene.worker.signal('SIGSTOP');
      const second = await scene.stack.startWorkerOnSecondHost();
      scene.afterwards(() => second.stop());
      await until(() => proxy.struck > 0, patience, 'the same claim of the other host');
      scene.worker.signal('SIGCONT');
      return { back: Date.now(), allowed: { requests: 16, steps: 4, ...allowed }, leavesWork: true };
    },
  },
];
