import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import { spread } from '../coevolution/spread.ts';
import type { ProbeTasksInput } from '../contracts/comparisons.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { SeedTaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { phase } from './phase.ts';
import type { Phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { probed } from './probe-attempts.ts';

/** Candidates for each task that is probed, and attempts at each candidate that choose. */
const candidatesPerTask = 4;
const screening = 8;

/** Attempts that probing an agent takes at most: those that choose the tasks, and those at them. */
export const probingAttempts = ({ tasks, attempts }: { tasks: number; attempts: number }): number =>
  tasks * (candidatesPerTask * screening + attempts);

/**
 * Tasks whose success rates span (0, 1) for the agent of an epoch. Half of the candidates are held out (a grid from easy to hard, in every
 * world), half are the base tasks and what the simulators have written so far (which crowd where they were rewarded). A few attempts
 * at each sort them by successes, and as many are taken of each class. These attempts are not used again: p is measured afresh.
 */
export function createProbeTasks(ports: Ports) {
  return (input: ProbeTasksInput): Promise<FileRef> =>
    phase(ports, 'probe-tasks', input, async (context) => {
      const candidates = await candidatesOf(ports, context, input);
      const successes = new Map<string, number>(candidates.map(({ id }) => [id, 0]));
      for await (const { task, solved } of probed(
        ports,
        context,
        input,
        candidates,
        screening,
        'probe-tasks',
      ))
        if (solved) successes.set(task.id, successes.get(task.id)! + 1);
      const classes = Array.from({ length: screening + 1 }, (_, k) =>
        candidates.filter(({ id }) => successes.get(id) === k),
      );
      return ports.store.putRecords(spread(classes, input.tasks));
    });
}

async function candidatesOf(
  { store }: Ports,
  { experiment }: Phase,
  { epoch, state, tasks }: ProbeTasksInput,
): Promise<SeedTaskRecord[]> {
  const random = randomStream(deriveSeed(experiment.seed, epoch, 'probe-tasks'));
  const [heldOut, base, history] = await Promise.all(
    [state.held_out, state.base_tasks, state.train_pool].map(async (file) =>
      collect(store.records<SeedTaskRecord>(file)),
    ),
  );
  const pools = [random.shuffle(heldOut!), random.shuffle([...base!, ...history!])];
  const distinct = new Map(spread(pools, candidatesPerTask * tasks).map(({ spec }) => [spec, spec]));
  return [...distinct.keys()].map((spec, index) => ({ id: `probe-${String(index).padStart(4, '0')}`, spec }));
}
