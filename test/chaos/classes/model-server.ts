import type { FaultClass } from '../fault-class.ts';

export const modelServerClasses: FaultClass[] = [
  {
    name: 'policy server killed',
    row: 'policy server killed, faulty answers',
    selected: true,
    async inject(scene) {
      const { live } = scene.stack;
      await scene.begin();
      await scene.begun(scene.random.pick(['generateTasks', 'rollOut']));
      await scene.pause(scene.random.int(60));
      await live.policy.stop('SIGKILL');
      await scene.pause(scene.random.int(2_000));
      live.startPolicyServer();
      await live.policyReady();
      return { back: Date.now() };
    },
  },
];
