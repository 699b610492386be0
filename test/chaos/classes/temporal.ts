import type { FaultClass } from '../fault-class.ts';
import { epochActivities } from '../scene.ts';
import type { Scene } from '../scene.ts';

const gone = 'Temporal server killed, away, absent';
const forgets = "Temporal's database lost or rolled back";
async function back({ stack: { live } }: Scene): Promise<number> {
  live.startTemporal();
  await live.connect();
  return Date.now();
}

const away = (name: string, atLeastMs: number, long = false): FaultClass => ({
  name,
  row: gone,
  long,
  async inject(scene) {
    await scene.begin();
    await scene.anyMoment();
    await scene.stack.live.temporal.stop('SIGKILL');
    await scene.pause(atLeastMs + scene.random.int(3_000));
    return { back: await back(scene), allowed: { activities: 2 } };
  },
});

/** Stops the worker before, in half of the cases; the other half goes through it with a worker that lives. */
async function maybeWithoutWorker(scene: Scene): Promise<() => Promise<number>> {
  if (scene.random.int(2) === 0) return () => Promise.resolve(Date.now());
  await scene.worker.stop('SIGKILL');
  return () => scene.newWorker();
}

export const temporalClasses: FaultClass[] = [
  { ...away('Temporal killed and restarted', 0), selected: true },
  away('Temporal away for seconds', 12_000),
  away('Temporal away for 5 minutes', 300_000, true),
  {
    name: 'Temporal killed every few seconds',
    row: gone,
    async inject(scene) {
      const times = 3;
      await scene.begin();
      let at = 0;
      for (let time = 0; time < times; time++) {
        await scene.begun(scene.random.pick(epochActivities), time + 1);
        await scene.stack.live.temporal.stop('SIGKILL');
        await scene.pause(scene.random.int(1_000));
        at = await back(scene);
      }
      return { back: at, allowed: { requests: 2 * times, activities: 2 * times } };
    },
  },
  {
    name: 'Temporal absent when the worker starts',
    row: gone,
    async inject(scene) {
      await scene.begin();
      await scene.anyMoment();
      await scene.worker.stop('SIGKILL');
      await scene.stack.live.temporal.stop('SIGKILL');
      const ready = scene.newWorker();
      await scene.pause(2_000 + scene.random.int(3_000));
      await back(scene);
      return { back: await ready, allowed: { activities: 2 } };
    },
  },
  {
    name: "Temporal's database lost",
    row: forgets,
    selected: true,
    async inject(scene) {
      await scene.begin();
      await scene.anyMoment();
      const worker = await maybeWithoutWorker(scene);
      await scene.stack.live.temporal.stop('SIGKILL');
      await scene.stack.live.database.loseDatabase();
      await back(scene);
      const at = await worker();
      // `genenv resume` does the same: the id is started again, on a server that has never heard of it.
      await scene.begin();
      return { back: at, allowed: { requests: 4, activities: 2 } };
    },
  },
  {
    name: "Temporal's database rolled back",
    row: forgets,
    async inject(scene) {
      const { live } = scene.stack;
      await scene.begin();
      await scene.begun(scene.random.pick(epochActivities), 1);
      await live.temporal.stop('SIGKILL');
      await live.database.copyDatabase('old');
      await back(scene);
      await scene.begun(scene.random.pick(epochActivities), 2 + scene.random.int(2));
      const worker = await maybeWithoutWorker(scene);
      await live.temporal.stop('SIGKILL');
      await live.database.restoreDatabase('old');
      await back(scene);
      return { back: await worker(), allowed: { requests: 6, activities: 4 } };
    },
  },
];
