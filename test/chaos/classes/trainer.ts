import { existsSync, rmSync } from 'node:fs';
import { until } from '../../../test-support/processes.ts';
import type { Disturbance, FaultClass } from '../fault-class.ts';
import { patience } from '../scene.ts';
import type { Scene } from '../scene.ts';

const row = 'trainer SIGKILL, exit code, out of memory';
/** Training jobs of a run: two an epoch. */
const jobs = 6;
const training = ['trainAgent', 'trainEnvironment'] as const;

/** Every job meets the fault once, before its first step. */
const fails = (
  name: string,
  fault: string,
  row: string,
  specified?: Disturbance['specified'],
): FaultClass => ({
  name,
  row,
  async inject(scene): Promise<Disturbance> {
    await restartTrainer(scene, { GENENV_TRAINER_FAULT: `${fault}:${1 + scene.random.int(2)}:once` });
    scene.afterwards(() => restartTrainer(scene));
    await scene.begin();
    await scene.job('trainAgent', 1);
    return {
      back: Date.now(),
      allowed: { steps: 2 * jobs },
      ...(specified === undefined ? {} : { specified }),
    };
  },
});

/** The resident parent alone is replaced: jobs under way live on. */
async function restartTrainer(
  { stack: { live } }: Scene,
  environment: NodeJS.ProcessEnv = {},
): Promise<void> {
  await live.trainer.stop('SIGKILL');
  rmSync(live.trainerSocket, { force: true });
  live.startTrainer(environment);
  await until(() => existsSync(live.trainerSocket), patience, 'the trainer');
}

export const trainerClasses: FaultClass[] = [
  {
    name: 'trainer killed',
    row,
    selected: true,
    async inject(scene) {
      await scene.begin();
      const job = await scene.job(scene.random.pick(training));
      await scene.pause(scene.random.int(60));
      signalJob(job, 'SIGKILL');
      return { back: Date.now() };
    },
  },
  fails('trainer ends with an exit code', 'exit', row),
  fails('trainer out of memory', 'oom', row, { note: /out of memory, went on with/, sameResult: true }),
  fails('trainer hangs in a step', 'hang', 'trainer hangs but lives'),
  {
    name: 'trainer stands still (SIGSTOP)',
    row: 'trainer hangs but lives',
    async inject(scene) {
      await scene.begin();
      signalJob(await scene.job(scene.random.pick(training)), 'SIGSTOP');
      return { back: Date.now() };
    },
  },
  {
    name: 'resident trainer killed',
    row,
    async inject(scene) {
      await scene.begin();
      await scene.begun(scene.random.pick(['rollOut', ...training]));
      await scene.pause(scene.random.int(100));
      await restartTrainer(scene);
      return { back: Date.now() };
    },
  },
];

/** It may just have ended by itself, which is a moment like any other. */
function signalJob(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
