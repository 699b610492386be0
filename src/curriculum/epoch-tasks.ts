/** The tasks of an epoch before it draws from the pool, in each arm. */
import { collect, filterStream, mapStream, mergeSorted } from '../async/streams.ts';
import { drawExemplars } from '../coevolution/arms/best-of-n.ts';
import type { ParentRecord } from '../coevolution/arms/evolved.ts';
import { selectParents } from '../coevolution/arms/evolved.ts';
import { predictedSuccess, selectCandidates } from '../coevolution/arms/selection.ts';
import { predictFromTexts } from '../coevolution/arms/text-predictor.ts';
import { difficultyReward } from '../coevolution/difficulty-reward.ts';
import { poolDraw } from '../coevolution/training-pool.ts';
import type { Experiment } from '../config/experiment.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { RandomStream } from '../numerics/random.ts';
import { generationCounts } from '../runs/request-plan.ts';
import type { Phase } from '../runtime/run-once.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { DrawTasksInput, ShardInput } from '../types/activity-inputs.ts';
import type { RunState } from '../types/run-state.ts';
import { roundSeeds, taskId } from '../types/ids.ts';
import type { EnvironmentPoolRecord, HistoryRecord, SeedTaskRecord, TaskRecord } from '../types/records.ts';
import type { Exemplar } from '../worlds/world.ts';
import { heldOutExclusion } from './held-out-tasks.ts';
import { taskFeatures } from './task-features.ts';
import { drawByCode } from './tasks-by-code.ts';

/** The epoch's own tasks: those that the simulator wrote, or what the arm puts in their place. */
export async function* epochTasks(
  { store }: { store: ObjectStore },
  context: Phase,
  input: DrawTasksInput,
): AsyncGenerator<TaskRecord> {
  const { arm, environment, seed } = context.experiment;
  const { epoch, state, round } = input;
  const count = environment.promptsPerEpoch * environment.variationsPerPrompt;
  const random = randomStream(deriveSeed(seed, epoch, 'arm', ...roundSeeds(round)));
  const newTask = (index: number, batch: string, spec: string): TaskRecord =>
    taskWithoutSimulator(context, taskId(epoch, index), { source: 'new', batch, spec });
  switch (arm.type) {
    case 'genenv':
    case 'random':
    case 'evolved':
      yield* readGeneratedTasks(store, context, input);
      return;
    case 'static':
    case 'offline':
    case 'success-bin': {
      const pool = await collect(store.records<SeedTaskRecord>(state.task_pool!));
      // Each round has passes over the data set of its own: how many rounds earlier epochs had does not matter.
      const poolSeed = deriveSeed(seed, 'pool', ...roundSeeds(round));
      const positions = poolDraw(pool.length, { count, epoch, seed: poolSeed });
      for (const [index, position] of positions.entries()) {
        const { id, spec } = pool[position]!;
        yield newTask(index, id, spec);
      }
      return;
    }
    case 'selection':
    case 'best-of-n': {
      const tasks = await collect(readGeneratedTasks(store, context, input));
      const { outcomes = [] } = await store.json<HistoryRecord>(state.history);
      const seen = await drawnSpecs(store, round);
      const candidates = predictSuccess(tasks, outcomes, { epoch, ...arm, seen });
      const selected =
        arm.type === 'selection'
          ? selectCandidates(candidates, count, random)
          : bestOfEach(candidates, arm.candidates, context.experiment, random);
      for (const [index, position] of selected.entries())
        yield { ...candidates[position]!.task, id: taskId(epoch, index) };
      return;
    }
    case 'window':
    case 'uniform':
    case 'oracle': {
      const drawn = await drawByCode(store, context.world, { arm, epoch, state, count }, random);
      for (const [index, { batch, spec }] of drawn.entries()) yield newTask(index, batch, spec);
    }
  }
}

/** The tasks of all shards, first those of the current simulator, each in the order of their ids. */
async function* readGeneratedTasks(
  store: ObjectStore,
  { experiment, world }: Phase,
  { generated, state }: DrawTasksInput,
): AsyncGenerator<TaskRecord> {
  // A starved simulator may share its prompts in an experiment where it otherwise does not.
  const mayStarve = typeof experiment.guards.starvedAfter === 'number';
  const hasInitial = generationCounts(experiment, mayStarve).initial > 0;
  const simulators = hasInitial ? (['current', 'initial'] as const) : (['current'] as const);
  // Each simulator's tasks are in order in each shard.
  const streams = generated.flatMap((file) =>
    simulators.map((simulator) =>
      filterStream(store.records<TaskRecord>(file), (task) => task.simulator === simulator),
    ),
  );
  const exclude = await heldOutExclusion(store, experiment, world, state);
  yield* mapStream(mergeSorted(streams, isBefore), exclude);
}

/** Ids of larger indexes may have more digits. */
const isBefore = (a: TaskRecord, b: TaskRecord): boolean =>
  a.id.length < b.id.length || (a.id.length === b.id.length && a.id < b.id);

/** The record of a task that no simulator wrote for this epoch. */
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

interface Prediction {
  epoch: number;
  bandwidth: number;
  predictor?: string | undefined;
  /** Texts of earlier rounds; those of the candidates are added. */
  seen: Set<string>;
}
type PredictedCandidate = { task: TaskRecord; usable: boolean; predicted: number | null };

/**
 * Predicts the success rate of each candidate from the outcomes of earlier tasks. Invalid candidates, and
 * repeats of an earlier one or of a task that was seen, are not usable: they are selected only if there are
 * too few others.
 */
function predictSuccess(
  tasks: readonly TaskRecord[],
  outcomes: NonNullable<HistoryRecord['outcomes']>,
  { epoch, bandwidth, predictor, seen }: Prediction,
): PredictedCandidate[] {
  const fromTexts =
    predictor === 'text' &&
    predictFromTexts(
      tasks.map(({ spec }) => spec ?? ''),
      outcomes.flatMap(({ text, ...counts }) => (text === undefined ? [] : [{ ...counts, text }])),
      epoch,
    );
  return tasks.map((task, index) => {
    const usable = task.spec !== null && !seen.has(task.spec);
    if (task.spec !== null) seen.add(task.spec);
    const predicted = fromTexts ? fromTexts[index]! : predictedSuccess(task, outcomes, { epoch, bandwidth });
    return { task, usable, predicted: task.valid ? predicted : 0 };
  });
}

/** The texts of the tasks of earlier rounds. */
async function drawnSpecs(store: ObjectStore, round: DrawTasksInput['round']): Promise<Set<string>> {
  const specs = new Set<string>();
  if (round === undefined) return specs;
  for await (const { spec } of store.records<TaskRecord>(round.drawn)) if (spec !== null) specs.add(spec);
  return specs;
}

/** Of every n candidates the one with the largest predicted R_env. */
function bestOfEach(
  candidates: readonly PredictedCandidate[],
  n: number,
  { difficulty }: Experiment,
  random: RandomStream,
): number[] {
  const reward = (predicted: number | null): number =>
    difficultyReward(predicted ?? difficulty.alpha, difficulty);
  return Array.from({ length: candidates.length / n }, (_, slot) => {
    const first = slot * n;
    const [best] = selectCandidates(candidates.slice(first, first + n), 1, random, reward);
    return first + best!;
  });
}

/**
 * The exemplars that the arm `best-of-n` shows its simulator in each of an epoch's prompts: tasks of D_env,
 * each text once, with its newest reward. Other arms show none.
 */
export async function createExemplarDraw(
  { store }: { store: ObjectStore },
  { arm, seed }: Experiment,
  epoch: number,
  state: RunState,
): Promise<(prompt: number) => Exemplar[]> {
  if (arm.type !== 'best-of-n') return () => [];
  const newest = new Map<string, { spec: string; env_reward: number; weight: number }>();
  const pool = store.records<EnvironmentPoolRecord>(state.environment_pool);
  for await (const { signature, env_reward, guard } of pool)
    newest.set(signature, { spec: signature, env_reward, weight: guard });
  const records = [...newest.values()];
  return (prompt) => {
    const random = randomStream(deriveSeed(seed, epoch, 'exemplars', prompt));
    const exemplars = drawExemplars(records, arm.exemplars, arm, random);
    return exemplars.map(({ spec, env_reward }) => ({ spec, reward: env_reward }));
  };
}

/**
 * What the arm `evolved` varies in an epoch: the parents in D_env, and base tasks in the places that D_env
 * cannot fill, as all are at first; undefined in other arms, which vary the base tasks.
 */
export async function readParents(
  { store }: { store: ObjectStore },
  { arm, seed }: Experiment,
  { epoch, state }: Pick<ShardInput, 'epoch' | 'state'>,
  base: readonly SeedTaskRecord[],
): Promise<string[] | undefined> {
  if (arm.type !== 'evolved') return undefined;
  const specs = base.map(({ spec }) => spec);
  const random = randomStream(deriveSeed(seed, epoch, 'parents'));
  const pool: ParentRecord[] = [];
  const records = store.records<EnvironmentPoolRecord>(state.environment_pool);
  for await (const { epoch: written, signature, env_reward, guard } of records)
    pool.push({ epoch: written, signature, env_reward, guard });
  const parents = selectParents(pool, arm.parents, random).map(({ signature }) => signature);
  return [...parents, ...random.shuffle(specs).slice(0, arm.parents - parents.length)];
}

/** Whether the simulator has had nothing to learn from for `guards.starvedAfter` epochs in a row. */
export async function isStarved(
  { store }: { store: ObjectStore },
  { guards }: Experiment,
  state: RunState,
): Promise<boolean> {
  if (guards.starvedAfter === undefined || guards.starvedAfter === null) return false;
  const { starved = 0 } = await store.json<HistoryRecord>(state.history);
  return starved >= guards.starvedAfter;
}
