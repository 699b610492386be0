import type { FaultClass } from '../fault-class.ts';

export const temporalClasses: FaultClass[] = [
  {
    name: 'Temporal killed and restarted',
    row: 'Temporal server killed, away, absent',
    selected: true,
    async inject(scene) {
      const { live } = scene.stack;
      await scene.begin();
      await scene.anyMoment();
      await live.temporal.stop('SIGKILL');
      await scene.pause(scene.random.int(3_000));
      live.startTemporal();
      await live.connect();
      return { back: Date.now(), allowed: { activities: 2 } };
    },
  },
];
