import type { FaultClass } from '../fault-class.ts';

/** What may happen to a Temporal that a company runs: its database, and its certificates. */
export const clusterClasses: FaultClass[] = [
  {
    name: 'PostgreSQL killed or shut down, and restarted',
    row: "Temporal's PostgreSQL restarted",
    async inject(scene) {
      const { postgresql } = scene.stack.live.database;
      if (postgresql === undefined) return { back: 0, skipped: 'it takes GENENV_TEST_TEMPORAL=postgresql' };
      await scene.begin();
      await scene.anyMoment();
      await postgresql.stop(scene.random.pick(['SIGKILL', 'SIGQUIT', 'SIGINT']));
      await scene.pause(scene.random.int(6_000));
      await postgresql.restart();
      return { back: Date.now(), allowed: { activities: 2 } };
    },
  },
  {
    name: "Temporal's certificate expired, then renewed",
    row: "Temporal's certificate expired",
    async inject(scene) {
      const proxy = await scene.stack.tls();
      await scene.worker.stop();
      await scene.newWorker(proxy.environment);
      scene.afterwards(() => scene.worker.stop());
      await scene.begin();
      await scene.anyMoment();
      proxy.show(await proxy.authority.issue('expired', { days: -1 }));
      await scene.pause(1_000 + scene.random.int(9_000));
      proxy.show(await proxy.authority.issue('renewed'));
      return { back: Date.now(), allowed: { activities: 2 } };
    },
  },
];
