import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess } from '../end-process.ts';
import type { FaultClass } from '../fault-class.ts';
import { epochActivities } from '../scene.ts';
import type { EpochActivity, Scene } from '../scene.ts';

const phaseNames: Record<EpochActivity, string> = {
  generateTasks: 'generate',
  drawTasks: 'draw',
  rollOut: 'roll out',
  computeRewards: 'reward',
  filterByDifficulty: 'filter',
  updatePools: 'pools',
  trainAgent: 'train agent',
  trainEnvironment: 'train environment',
  commitEpoch: 'commit',
};

/** As it begins, a random time into it, or when its work is done and not yet reported. */
const someMoment = ({ random }: Scene): 'before' | 'after' | { ms: number } =>
  random.pick(['before', 'after', { ms: 5 + random.int(150) }] as const);

/** Kills the worker at the moment, and waits for its end. */
export async function killWorker(
  scene: Scene,
  activity: EpochActivity,
  when: 'before' | 'after' | { ms: number },
): Promise<void> {
  scene.arm({ activity, when, signal: 'SIGKILL' });
  await scene.begin();
  await scene.struck();
  await scene.worker.exited;
}

const killed = (activity: EpochActivity): FaultClass => ({
  name: `worker killed: ${phaseNames[activity]}`,
  row: 'worker SIGKILL in each phase',
  ofWorker: true,
  selected: activity === 'rollOut',
  async inject(scene) {
    await killWorker(scene, activity, someMoment(scene));
    return { back: await scene.newWorker() };
  },
});

const stopped = (activity: EpochActivity): FaultClass => ({
  name: `worker stopped: ${phaseNames[activity]}`,
  row: 'worker SIGTERM (deploy) in each phase',
  ofWorker: true,
  selected: activity === 'trainEnvironment',
  async inject(scene) {
    scene.arm({
      activity,
      when: scene.random.pick(['before', { ms: 5 + scene.random.int(150) }] as const),
      signal: 'SIGTERM',
    });
    await scene.begin();
    await scene.struck();
    await endProcess(scene.worker, 60_000, 'the worker that was told to stop');
    if (scene.worker.child.exitCode !== 0)
      throw new Error(`the worker that was told to stop ended with ${String(scene.worker.child.exitCode)}`);
    const back = await scene.newWorker();
    scene.expect(() => {
      const begun = scene.trail.filter(({ what }) => what === 'begin');
      // One that never began was handed to a poll that was just being closed, which a server does not take back
      // (docs/operating.md, "may hand an activity to a worker").
      const wasTaken = ({ activity, epoch, shard, attempt, at }: (typeof begun)[number]): boolean =>
        begun.some(
          (earlier) =>
            earlier.activity === activity &&
            earlier.epoch === epoch &&
            earlier.shard === shard &&
            earlier.attempt < attempt &&
            earlier.at < at,
        );
      const again = begun.find((line) => line.at > back && line.attempt > 1 && wasTaken(line));
      return again === undefined ? [] : [`the deploy cost ${again.activity} an attempt`];
    });
    return { back };
  },
});

export const workerClasses: FaultClass[] = [
  ...epochActivities.map(killed),
  ...epochActivities.map(stopped),
  {
    name: 'worker killed, trainer lives',
    row: 'worker dies, trainer lives',
    ofWorker: true,
    selected: true,
    async inject(scene) {
      const activity = scene.random.pick(['trainAgent', 'trainEnvironment'] as const);
      await scene.begin();
      const job = await scene.job(activity);
      // Held, so that it is certain to be under way when the new worker comes.
      process.kill(job, 'SIGSTOP');
      scene.worker.signal('SIGKILL');
      await scene.worker.exited;
      const back = await scene.newWorker();
      await scene.seen(
        `${activity} again`,
        (line) =>
          line.what === 'begin' && line.activity === activity && line.epoch === scene.epoch && line.at > back,
      );
      await sleep(300);
      process.kill(job, 'SIGCONT');
      return { back, allowed: { steps: 0 } };
    },
  },
  {
    name: 'zombie worker',
    row: 'zombie attempt',
    selected: true,
    async inject(scene) {
      scene.arm({ activity: scene.random.pick(epochActivities), when: someMoment(scene), signal: 'SIGSTOP' });
      await scene.begin();
      await scene.struck();
      const zombie = scene.worker;
      scene.afterwards(() => zombie.stop('SIGKILL'));
      const back = await scene.newWorker();
      await scene.workedOnWithout(zombie.child.pid);
      await sleep(scene.random.int(500));
      zombie.signal('SIGCONT');
      return { back, allowed: { requests: 4, activities: 2 } };
    },
  },
  {
    name: 'answer of an activity lost',
    row: 'effect done, answer lost',
    selected: true,
    async inject(scene) {
      scene.arm({ activity: scene.random.pick(epochActivities), when: 'lost' });
      await scene.begin();
      await scene.struck();
      return { back: Date.now() };
    },
  },
  {
    name: 'connection to Temporal cut',
    row: 'effect done, answer lost',
    async inject(scene) {
      const activity = scene.random.pick(epochActivities);
      await scene.worker.stop();
      await scene.newWorker({ TEMPORAL_ADDRESS: scene.stack.tcp.address });
      scene.afterwards(() => scene.worker.stop());
      await scene.begin();
      await scene.seen(
        `the end of ${activity}`,
        (line) => line.what === 'end' && line.activity === activity && line.epoch === scene.epoch,
      );
      for (let times = 1 + scene.random.int(4); times > 0; times--) {
        scene.stack.tcp.cut();
        await sleep(scene.random.int(200));
      }
      return { back: Date.now(), allowed: { activities: 2 } };
    },
  },
  {
    name: 'worker killed between write and rename',
    row: 'torn or corrupt file',
    ofWorker: true,
    async inject(scene) {
      const activity = scene.random.pick(epochActivities);
      const target = scene.random.pick(renamedFiles(activity));
      scene.arm({ activity, when: 'rename', target, signal: 'SIGKILL' });
      await scene.begin();
      await scene.struck();
      await scene.worker.exited;
      return { back: await scene.newWorker() };
    },
  },
  {
    name: 'small workflow cache and restarts',
    row: 'replay everywhere',
    async inject(scene) {
      const environment = { GENENV_MAX_CACHED_WORKFLOWS: String(scene.random.int(3)) };
      const restarts = 3;
      scene.afterwards(() => scene.worker.stop());
      await scene.begin();
      let back = 0;
      for (let restart = 0; restart < restarts; restart++) {
        await scene.begun(scene.random.pick(epochActivities), restart + 1);
        await scene.worker.stop(scene.random.pick(['SIGTERM', 'SIGKILL']), 60_000);
        back = await scene.newWorker(environment);
      }
      return { back, allowed: { requests: 2 * restarts, steps: restarts, activities: restarts } };
    },
  },
  {
    name: 'two workers and two experiments, one worker killed',
    row: 'two workers, two experiments, one GPU',
    async inject(scene) {
      const first = scene.worker;
      await scene.stack.startWorker();
      const twin = scene.twin();
      scene.afterwards(() => twin.dispose());
      await Promise.all([scene.begin(), twin.begin()]);
      await scene.anyMoment();
      await scene.random.pick([first, scene.worker]).stop('SIGKILL');
      if (!scene.worker.alive) scene.stack.worker = first;
      else scene.afterwards(() => first.stop());
      const back = Date.now();
      await twin.finish();
      scene.expect(() =>
        scene.stack.live.ledger(twin.id) === scene.stack.reference
          ? []
          : ['the ledger of the other experiment differs from that of the undisturbed run'],
      );
      return { back, allowed: { requests: Infinity, activities: 2 } };
    },
  },
];

/** Parts of the paths of files that an activity renames into place. */
function renamedFiles(activity: EpochActivity): string[] {
  if (activity === 'commitEpoch') return ['/runs/'];
  return activity.startsWith('train') ? ['/objects/', '/keys/', 'job.json'] : ['/objects/', '/keys/'];
}
