import type { FaultClass } from '../fault-class.ts';
import { epochActivities } from '../scene.ts';
import type { EpochActivity, Scene } from '../scene.ts';

const phaseNames: Record<EpochActivity, string> = {
  generateTasks: 'generate', drawTasks: 'draw', rollOut: 'roll out', computeRewards: 'reward', filterByDifficulty: 'filter', updatePools: 'pools',
  trainAgent: 'train agent', trainEnvironment: 'train environment', commitEpoch: 'commit',
};

/** As it begins, a random time into it, or when its work is done and not yet reported. */
export const someMoment = ({ random }: Scene): 'before' | 'after' | { ms: number } => random.pick(['before', 'after', { ms: 5 + random.int(150) }] as const);

const killed = (activity: EpochActivity): FaultClass => ({
  name: `worker killed: ${phaseNames[activity]}`,
  row: 'worker SIGKILL in each phase',
  ofWorker: true,
  selected: activity === 'rollOut',
  async inject(scene) {
    scene.arm({ activity, when: someMoment(scene), signal: 'SIGKILL' });
    await scene.begin();
    await scene.struck();
    await scene.worker.exited;
    return { back: await scene.newWorker() };
  },
});

export const workerClasses: FaultClass[] = epochActivities.map(killed);
