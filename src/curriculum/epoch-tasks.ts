import { collect, filterStream, mergeSorted } from '../async/streams.ts';
import { drawExemplars } from '../coevolution/arms/best-of-n.ts';
import { drawLevels, openWindow, windowLevels } from '../coevolution/arms/difficulty-window.ts';
import { predictedSuccess, selectCandidates } from '../coevolution/arms/selection.ts';
import { difficultyReward } from '../coevolution/difficulty-reward.ts';
import { poolDraw } from '../coevolution/training-pool.ts';
import type { Arm } from '../config/arms.ts';
import type { Experiment } from '../config/experiment.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { RandomStream } from '../numerics/random.ts';
import { generationCounts } from '../runs/request-plan.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { DrawTasksInput, RunState } from '../types/activity-types.ts';
import { epochId, taskId } from '../types/ids.ts';
import type { EnvironmentPoolRecord, HistoryRecord, SeedTaskRecord, TaskRecord } from '../types/records.ts';
import type { Exemplar } from '../worlds/world.ts';
import { taskFeatures } from './task-features.ts';

/** The epoch's own tasks: what the simulator wrote, or what the arm puts in its place. */
export async function* epochTasks(
  { store }: { store: ObjectStore },
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
      yield* generatedTasks(store, context, input);
      return;
    case 'static':
    case 'offline': {
      const pool = await collect(store.records<SeedTaskRecord>(state.task_pool!));
      const drawn = poolDraw(pool.length, { count, epoch, seed: deriveSeed(seed, 'pool') });
      yield* drawn.map((at, index) =>
        taskWithoutSimulator(context, taskId(epoch, index), {
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
        await collect(generatedTasks(store, context, input)),
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
        taskWithoutSimulator(context, taskId(epoch, index), {
          source: 'new',
          batch: `${epochId(epoch)}/level-${level}`,
          spec: context.world.taskAt!(level, random),
        }),
      );
    }
  }
}

function generatedTasks(
  store: ObjectStore,
  { experiment }: Phase,
  { generated }: DrawTasksInput,
): AsyncGenerator<TaskRecord> {
  // A starved simulator may share its prompts in an experiment where it otherwise does not.
  const simulators =
    generationCounts(experiment, typeof experiment.guards.starvedAfter === 'number').initial > 0
      ? (['current', 'initial'] as const)
      : (['current'] as const);
  // Each simulator's tasks are in order in each shard.
  return mergeSorted(
    generated.flatMap((file) =>
      simulators.map((simulator) =>
        filterStream(store.records<TaskRecord>(file), (task) => task.simulator === simulator),
      ),
    ),
    isBefore,
  );
}

/** Ids grow by a digit where the index does. */
const isBefore = (a: TaskRecord, b: TaskRecord): boolean =>
  a.id.length < b.id.length || (a.id.length === b.id.length && a.id < b.id);

/** A task that no simulator wrote for this epoch. */
export function taskWithoutSimulator(
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
    ...taskFeatures(world, spec),
    sampled: null,
  };
}

type ScoredCandidate = { task: TaskRecord; usable: boolean; predicted: number | null };

/**
 * What is known of each candidate beforehand. Invalid ones, and repeats of one that is there, come only where
 * there are too few others.
 */
function judged(
  { bandwidth }: Extract<Arm, { type: 'selection' | 'best-of-n' }>,
  tasks: readonly TaskRecord[],
  outcomes: NonNullable<HistoryRecord['outcomes']>,
  epoch: number,
): ScoredCandidate[] {
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
  candidates: readonly ScoredCandidate[],
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

/**
 * What the arm `best-of-n` shows its simulator in each of an epoch's prompts: tasks of D_env, each text once,
 * its newest reward. Other arms show nothing.
 */
export async function drawnExemplars(
  { store }: { store: ObjectStore },
  { arm, seed }: Experiment,
  epoch: number,
  state: RunState,
): Promise<(prompt: number) => Exemplar[]> {
  if (arm.type !== 'best-of-n') return () => [];
  const newest = new Map<
    string,
    Pick<EnvironmentPoolRecord, 'env_reward'> & { spec: string; weight: number }
  >();
  for await (const { signature, env_reward, guard } of store.records<EnvironmentPoolRecord>(
    state.environment_pool,
  ))
    newest.set(signature, { spec: signature, env_reward, weight: guard });
  const records = [...newest.values()];
  return (prompt) =>
    drawExemplars(
      records,
      arm.exemplars,
      arm,
      randomStream(deriveSeed(seed, epoch, 'exemplars', prompt)),
    ).map(({ spec, env_reward }) => ({ spec, reward: env_reward }));
}

/** Whether the simulator has had nothing to learn from for as long as `guards.starvedAfter` says. */
export async function isStarved(
  { store }: { store: ObjectStore },
  { guards }: Experiment,
  state: RunState,
): Promise<boolean> {
  if (guards.starvedAfter === undefined || guards.starvedAfter === null) return false;
  const { starved = 0 } = await store.json<HistoryRecord>(state.history);
  return starved >= guards.starvedAfter;
}
