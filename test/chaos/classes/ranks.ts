import { readFileSync } from 'node:fs';
import { processesWith, until } from '../../../test-support/processes.ts';
import type { FaultClass } from '../fault-class.ts';
import { patience } from '../scene.ts';
import type { Scene } from '../scene.ts';

const row = "a training job's second process lost";

/** The second of a job's processes. torchrun numbers them in their environment. */
function secondProcess({ stack, id }: Scene): number | undefined {
  const folder = stack.path('store', 'work', id);
  return processesWith(
    (process) =>
      readFileSync(`${process}/cmdline`, 'utf8').includes(folder) &&
      readFileSync(`${process}/environ`, 'utf8').split('\0').includes('LOCAL_RANK=1'),
  )[0];
}

const lost = (name: string, signal: NodeJS.Signals): FaultClass => ({
  name: `second process ${name}`,
  row,
  stack: 'ranks',
  async inject(scene) {
    await scene.begin();
    // The first one has said that it loads; the second may be anywhere between its start and the last step.
    await scene.job(scene.random.pick(['trainAgent', 'trainEnvironment'] as const));
    await scene.pause(scene.random.int(6_000));
    let pid: number | undefined;
    await until(
      async () => (pid = secondProcess(scene)) !== undefined || (await scene.isOver()),
      patience,
      `a second process of ${scene.id}`,
    );
    if (pid !== undefined) process.kill(pid, signal);
    // The first process dies in the collective that misses the second, or is ended with it.
    return { back: Date.now(), allowed: { steps: 2 } };
  },
});

export const rankClasses: FaultClass[] = [
  lost('killed', 'SIGKILL'),
  lost('stands still (SIGSTOP)', 'SIGSTOP'),
];
