import type { FaultClass } from '../fault-class.ts';

/** What may happen to the cluster that runs training jobs. */
export const slurmClasses: FaultClass[] = [
  {
    name: 'slurm: node lost with its job',
    row: "a training job's node lost",
    stack: 'slurm',
    async inject(scene) {
      const { cluster } = scene.stack;
      await scene.begin();
      await scene.job(scene.random.pick(['trainAgent', 'trainEnvironment'] as const));
      await scene.pause(scene.random.int(4_000));
      await cluster!.loseNode();
      await scene.pause(scene.random.int(6_000));
      await cluster!.restartNode();
      return { back: Date.now(), allowed: { steps: 2 } };
    },
  },
];
