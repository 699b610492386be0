import { selectCandidates } from '../coevolution/candidate-selection.ts';
import { difficultyReward } from '../coevolution/difficulty-reward.ts';
import { drawLevels, openWindow, windowLevels } from '../coevolution/difficulty-window.ts';
import { poolDraw } from '../coevolution/pool-draw.ts';
import { predictedSuccess } from '../coevolution/predicted-success.ts';
import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import type { RandomStream } from '../coevolution/seeds.ts';
import type { Arm } from '../contracts/arms.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { DrawTasksInput } from '../contracts/phases.ts';
import type { HistoryRecord, SeedTaskRecord, TaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { described } from './generate-tasks.ts';
import { epochId, taskId } from './phase.ts';
import type { Phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { generationCounts } from './sample.ts';
import { merged, only } from './streams.ts';

/** The epoch's own tasks: what the simulator wrote, or what the arm puts in its place. */
export async function* freshTasks(
  { store }: Ports,
  context: Phase,
  input: DrawTasksInput,
): AsyncGenerator<TaskRecord> {
  const { arm, environment, seed } = context.experiment;
  const { epoch, state } = input;
  const count = environment.promptsPerEpoch * environment.variationsPerPrompt;
  const random = randomStream(deriveSeed(seed, epoch, 'arm'));
  const history = (): Promise<HistoryRecord> => store.json<HistoryRecord>(state.history);
  switch (arm.type) {
    case 'genenv':
    case 'random':
      yield* writtenTasks(store, context, input);
      return;
    case 'static':
    case 'offline': {
      const pool = await collect(store.records<SeedTaskRecord>(state.task_pool!));
      const drawn = poolDraw(pool.length, { count, epoch, seed: deriveSeed(seed, 'pool') });
      yield* drawn.map((at, index) =>
        givenTask(context, taskId(epoch, index), {
          source: 'new',
          batch: pool[at]!.id,
          spec: pool[at]!.spec,
        }),
      );
      return;
    }
    case 'selection':
    case 'best-of-n': {
      const candidates = judged(
        arm,
        await collect(writtenTasks(store, context, input)),
        (await history()).outcomes ?? [],
        epoch,
      );
      const chosen =
        arm.type === 'selection'
          ? selectCandidates(candidates, count, random)
          : bestOfEach(candidates, arm.candidates, context.experiment, random);
      yield* chosen.map((at, index) => ({ ...candidates[at]!.task, id: taskId(epoch, index) }));
      return;
    }
    case 'window': {
      const levels = windowLevels((await history()).window ?? openWindow(arm), arm);
      yield* drawLevels(levels, count, random).map((level, index) =>
        givenTask(context, taskId(epoch, index), {
          source: 'new',
          batch: `${epochId(epoch)}/level-${level}`,
          spec: context.world.taskAt!(level, random),
        }),
      );
    }
  }
}

function writtenTasks(
  store: Ports['store'],
  { experiment }: Phase,
  { generated }: DrawTasksInput,
): AsyncGenerator<TaskRecord> {
  // A starved simulator may share its prompts in an experiment where it otherwise does not.
  const simulators =
    generationCounts(experiment, typeof experiment.guards.starvedAfter === 'number').initial > 0
      ? (['current', 'initial'] as const)
      : (['current'] as const);
  // Each simulator's tasks are in order in each shard.
  return merged(
    generated.flatMap((file) =>
      simulators.map((simulator) =>
        only(store.records<TaskRecord>(file), (task) => task.simulator === simulator),
      ),
    ),
    isBefore,
  );
}

/** Ids grow by a digit where the index does. */
const isBefore = (a: TaskRecord, b: TaskRecord): boolean =>
  a.id.length < b.id.length || (a.id.length === b.id.length && a.id < b.id);

/** A task that no simulator wrote for this epoch. */
export function givenTask(
  { world }: Phase,
  id: string,
  { source, batch, spec }: { source: TaskRecord['source']; batch: string; spec: string },
): TaskRecord {
  return {
    id,
    source,
    batch_id: batch,
    context: '',
    history_success: null,
    simulator: 'none',
    valid: true,
    invalid_reason: '',
    repeats: 0,
    ...described(world, spec),
    sampled: null,
  };
}

type Candidate = { task: TaskRecord; usable: boolean; predicted: number | null };

/** What is known of each candidate beforehand. Invalid ones, and repeats of one that is there, come only where there are too few others. */
function judged(
  { bandwidth }: Extract<Arm, { type: 'selection' | 'best-of-n' }>,
  tasks: readonly TaskRecord[],
  outcomes: NonNullable<HistoryRecord['outcomes']>,
  epoch: number,
): Candidate[] {
  const seen = new Set<string>();
  return tasks.map((task) => {
    const usable = task.spec !== null && !seen.has(task.spec);
    if (task.spec !== null) seen.add(task.spec);
    return {
      task,
      usable,
      predicted: task.valid ? predictedSuccess(task, outcomes, { epoch, bandwidth }) : 0,
    };
  });
}

/** Of every n candidates the one with the largest predicted R_env. */
function bestOfEach(
  candidates: readonly Candidate[],
  n: number,
  { difficulty }: Experiment,
  random: RandomStream,
): number[] {
  const worth = (predicted: number | null): number =>
    difficultyReward(predicted ?? difficulty.alpha, difficulty);
  return Array.from(
    { length: candidates.length / n },
    (_, slot) =>
      slot * n + selectCandidates(candidates.slice(slot * n, (slot + 1) * n), 1, random, worth)[0]!,
  );
}
