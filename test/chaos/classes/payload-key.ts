import { rmSync } from 'node:fs';
import type { TestProcess } from '../../../test-support/processes.ts';
import { keyText } from '../../temporal/some-keys.ts';
import { endProcess } from '../end-process.ts';
import type { FaultClass } from '../fault-class.ts';
import type { Scene } from '../scene.ts';

const row = 'payload key lost, and there again';
const variable = 'GENENV_PAYLOAD_KEYS';
const key = keyText('a');

/** Encrypts this scene's payloads; what runs on the stack afterwards has plain ones again. */
async function encrypt(scene: Scene): Promise<void> {
  const { live } = scene.stack;
  live.environment[variable] = key;
  scene.afterwards(async () => {
    await scene.worker.stop();
    forgetKey(scene);
    Reflect.deleteProperty(live.environment, variable);
    await live.connect();
  });
  await live.connect();
  await scene.worker.stop();
  await scene.newWorker();
}

const forgetKey = ({ stack }: Scene): void =>
  rmSync(stack.path('store', 'payload-key.json'), { force: true });

/** What the environment of a worker may have become: no key, another one under the id, another id. */
const lostKeys = (scene: Scene): NodeJS.ProcessEnv =>
  scene.random.pick([
    { [variable]: undefined },
    { [variable]: keyText('a', 'x') },
    { [variable]: keyText('b') },
  ]);

const endWorker = (scene: Scene, worker: TestProcess): Promise<void> =>
  worker.stop(scene.random.pick(['SIGTERM', 'SIGKILL']), 60_000);

export const payloadKeyClasses: FaultClass[] = [
  {
    name: 'lost key: the worker refuses to start until it has it',
    row,
    ofWorker: true,
    selected: true,
    async inject(scene) {
      await encrypt(scene);
      await scene.begin();
      await scene.anyMoment();
      await endWorker(scene, scene.worker);
      const keyless = scene.stack.live.launchWorker({ environment: lostKeys(scene) });
      await endProcess(keyless, 60_000, 'the worker without its key');
      scene.expect(() =>
        keyless.child.exitCode !== 0 && keyless.output.includes('the key "a" is')
          ? []
          : [`the worker without its key ended with ${String(keyless.child.exitCode)}: ${keyless.output}`],
      );
      return { back: await scene.newWorker(), allowed: { activities: 2 } };
    },
  },
  {
    name: 'lost key: a worker without it takes tasks',
    row,
    async inject(scene) {
      const { live, folder, model } = scene.stack;
      const common = { GENENV_TEST_FAULTS: folder, GENENV_POLICY_SERVER: model.url };
      await encrypt(scene);
      await scene.begin();
      await scene.anyMoment();
      await endWorker(scene, scene.worker);
      // Without the record too, so that it starts; in half of the cases another worker, with the key, schedules.
      forgetKey(scene);
      const queues = scene.random.pick([undefined, 'llm,cpu,gpu']);
      const keyless = await live.startWorker({
        environment: { ...common, ...lostKeys(scene) },
        ...(queues !== undefined && { queues }),
      });
      forgetKey(scene);
      const scheduler =
        queues === undefined
          ? undefined
          : await live.startWorker({ environment: common, queues: 'workflows' });
      await scene.pause(2_000 + scene.random.int(4_000));
      for (const worker of [keyless, scheduler]) if (worker !== undefined) await endWorker(scene, worker);
      forgetKey(scene);
      return { back: await scene.newWorker(), allowed: { activities: 2 } };
    },
  },
];
