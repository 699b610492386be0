import { until } from '../../../test-support/processes.ts';
import type { FaultClass } from '../fault-class.ts';
import type { ProxyFault } from '../model-proxy.ts';
import { patience } from '../scene.ts';

const row = 'policy server killed, faulty answers';

const spoiled = (name: string, kinds: readonly ProxyFault[], selected = false): FaultClass => ({
  name: `model server: ${name}`,
  row,
  selected,
  async inject(scene) {
    const { model } = scene.stack;
    const count = 1 + scene.random.int(3);
    await scene.begin();
    // The answer before the phase, so that all of the phase's requests are still to come.
    if (scene.random.int(2) === 0) await scene.begun('drawTasks');
    else if (scene.epoch > 1) await scene.begun('commitEpoch', scene.epoch - 1);
    model.spoil(...Array.from({ length: count }, () => scene.random.pick(kinds)));
    await until(() => model.struck === count, patience, `${count} spoiled answers`);
    return { back: Date.now(), allowed: { requests: count } };
  },
});

export const modelServerClasses: FaultClass[] = [
  {
    name: 'policy server killed',
    row,
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
  spoiled('429 with Retry-After', ['too many requests']),
  spoiled('500', ['server error']),
  spoiled('stall', ['stall', 'stall in the body']),
  spoiled('cut stream', ['cut stream']),
  spoiled('garbage', ['garbage body', 'a web page']),
  spoiled('wrong schema', ['wrong schema', 'no token ids', 'too few log-probabilities'], true),
  spoiled('other answer than asked', ['wrong model', 'a choice too few', 'a choice twice']),
  spoiled('oversized answer', ['oversized answer']),
  spoiled('answer lost', ['answer lost']),
];
