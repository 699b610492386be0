import { groupConsecutive } from '../../async/streams.ts';
import { TimeSlices } from '../../async/time-slices.ts';
import { difficultyReward, wordingFidelity } from '../../coevolution/difficulty-reward.ts';
import { groupAdvantages } from '../../coevolution/group-advantage.ts';
import { successRate } from '../../coevolution/success-rate.ts';
import type { SuccessRate } from '../../coevolution/success-rate.ts';
import type { Experiment } from '../../config/experiment.ts';
import { readHeldOut } from '../../curriculum/held-out-tasks.ts';
import { PROMPT_TOO_LONG } from '../../inference/policy-client.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { isUnanswered } from '../../rollouts/completion-requests.ts';
import { drawRandomAnswers, randomAnswersSeed } from '../../rollouts/answer-similarity.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import { EpochMetrics } from '../../scoring/epoch-metrics.ts';
import { clusterGuards, luckGuard, TaskOutcomeCounts } from '../../scoring/task-outcomes.ts';
import type { TaskOutcomes } from '../../scoring/task-outcomes.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type { ComputeRewardsInput } from '../../types/activity-inputs.ts';
import type { Rewards } from '../../types/activity-types.ts';
import { taskIndex } from '../../types/ids.ts';
import type {
  RewardRecord,
  Sampled,
  ScoreRecord,
  SeedTaskRecord,
  TaskRecord,
  TraceRecord,
} from '../../types/records.ts';
import { isSolved } from '../../worlds/world.ts';
import type { Verdict, World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Scores every answer by code, twice, and every task by its answers (GenEnv eqs. 1 to 3). Tasks and traces
 * stream through; only the text and a few numbers of each task stay in memory.
 */
export function createComputeRewards(dependencies: Dependencies) {
  return (input: ComputeRewardsInput): Promise<Rewards> =>
    runPhaseOnce(dependencies, 'reward', input, async ({ experiment, world }) => {
      const { store } = dependencies;
      const specs = await readSpecs(store, input.tasks);
      const context = { experiment, epoch: input.epoch, world };
      const outcomes = new TaskOutcomeCounts(specs.length, world.solvedFrom);
      const randomSimilarities = new Map<number, readonly (number | null)[]>();
      const summary = new EpochMetrics(experiment, world, await readHeldOut(store, input.state));
      const { heartbeat, signal } = dependencies.activityContext();
      let answers = 0;
      const slices = new TimeSlices((count) => {
        signal.throwIfAborted();
        heartbeat({ answers, slices: count });
      });
      const rewards = await store.putRecords(
        (async function* (): AsyncGenerator<RewardRecord> {
          for await (const group of groupConsecutive(readTraces(store, input.traces), isSameGroup)) {
            const { task_id, role, random_similarities: similarities } = group[0]!;
            const task = taskIndex(task_id);
            if (similarities !== undefined) randomSimilarities.set(task, similarities);
            // A task that the agent has no room for was not attempted: nothing is known of its difficulty.
            const isAnswered = !group.every(({ sampled }) => isUnanswered(sampled));
            const scored = isAnswered
              ? scoreGroup(context, specs[task]!, group)
              : group.map((trace) => unansweredReward(trace));
            if (isAnswered) {
              outcomes.add(task, role, scored);
              outcomes.addWordings(task, group);
              summary.addGroup(task, group, scored);
            }
            answers += group.length;
            heartbeat({ answers });
            yield* scored;
          }
        })(),
      );
      const scores = await store.putRecords(
        (async function* (): AsyncGenerator<ScoreRecord> {
          const perBatch = experiment.difficulty.per === 'batch';
          const batches = groupConsecutive(
            store.records<TaskRecord>(input.tasks),
            (first, next) => perBatch && isSameBatch(first, next),
          );
          const nearCopyFactors = await clusterGuards(experiment.guards, specs, slices);
          let index = 0;
          for await (const batch of batches) {
            const batchSuccess =
              perBatch && batch[0]!.source === 'new' ? outcomes.together(index, batch.length) : undefined;
            for (const task of batch) {
              const score = scoreTask(context, task, {
                ...outcomes.forTask(index),
                ...(batchSuccess && { batchSuccess }),
                nearCopyFactor: nearCopyFactors[index]!,
                randomSimilarities: randomSimilarities.get(index) ?? [],
              });
              summary.addTask(index, task, score);
              index += 1;
              yield score;
            }
          }
        })(),
      );
      const archive: string[] = [];
      for await (const { spec } of store.records<SeedTaskRecord>(input.state.train_pool)) archive.push(spec);
      const inconsistent = outcomes.inconsistentShare();
      return {
        rewards,
        scores,
        metrics: {
          ...(await summary.metrics(archive, slices)),
          ...(inconsistent !== undefined && { 'env/inconsistent': inconsistent }),
        },
      };
    });
}

/** The texts of the tasks, each at its task's index; null for an invalid task. */
async function readSpecs(store: ObjectStore, tasks: FileRef): Promise<(string | null)[]> {
  const specs: (string | null)[] = [];
  for await (const { id, spec } of store.records<TaskRecord>(tasks)) {
    if (taskIndex(id) !== specs.length)
      throw new Error(
        `task ${id} is at place ${specs.length} of its file: tasks must be in the order of their ids`,
      );
    specs.push(spec);
  }
  return specs;
}

/** The traces of all shards of an epoch, in the order that its rewards have. */
export async function* readTraces(
  store: ObjectStore,
  files: readonly FileRef[],
): AsyncGenerator<TraceRecord> {
  for (const file of files) yield* store.records<TraceRecord>(file);
}

/** A group is one prompt of one request, so its traces are contiguous and in one file. */
const isSameGroup = (a: TraceRecord, b: TraceRecord): boolean => a.task_id === b.task_id && a.role === b.role;

/** The variations of one seed prompt, which are contiguous. */
const isSameBatch = (a: TaskRecord, b: TaskRecord): boolean =>
  a.source === 'new' && b.source === 'new' && a.batch_id === b.batch_id;

/** What every verdict of an epoch depends on. */
interface ScoringContext {
  experiment: Experiment;
  epoch: number;
  world: World;
}

function scoreGroup(
  { experiment: { seed, agent }, epoch, world }: ScoringContext,
  spec: string,
  group: readonly TraceRecord[],
): RewardRecord[] {
  const judge = ({ id, sampled }: TraceRecord, which: 'first' | 'second'): Verdict =>
    world.score(
      spec,
      sampled.text,
      randomStream(deriveSeed(seed, epoch, 'verdict', id, which)),
      sampled.similarity,
    );
  const verdicts = group.map((trace) => ({ first: judge(trace, 'first'), second: judge(trace, 'second') }));
  // Only the advantage pays for form: success is counted by the verdict alone.
  const formatReward = agent.training?.formatReward ?? 0;
  const { advantages } = groupAdvantages(
    verdicts.map(({ first }) => first.reward + (first.wellFormed ? formatReward : 0)),
    { scaleByStd: agent.training?.scaleByStd ?? false },
  );
  return group.map(({ id, task_id, role, sampled }, index): RewardRecord => {
    const { first, second } = verdicts[index]!;
    const failure =
      role === 'agent' && !isSolved(world, first.reward) ? describeFailure(world, spec, sampled) : undefined;
    return {
      id,
      task_id,
      role,
      reward: first.reward,
      second_reward: second.reward,
      well_formed: first.wellFormed,
      advantage: role === 'agent' ? advantages[index]! : 0,
      answer: sampled.text,
      ...(failure !== undefined && { failure }),
    };
  });
}

const unansweredReward = ({ id, task_id, role }: TraceRecord): RewardRecord => ({
  id,
  task_id,
  role,
  reward: 0,
  second_reward: 0,
  well_formed: false,
  advantage: 0,
  answer: '',
  failure: PROMPT_TOO_LONG,
});

/** Why an answer fails; undefined in worlds that do not say. */
function describeFailure(world: World, spec: string, { finish_reason, text }: Sampled): string | undefined {
  if (!world.failure) return undefined;
  if (finish_reason === PROMPT_TOO_LONG) return 'conversation too long';
  return finish_reason === 'length' ? 'cut off' : world.failure(spec, text);
}

/** What the groups of a task and of its batch came to. */
interface TaskEvidence extends TaskOutcomes {
  /** Of all variations of the task's seed prompt; absent if difficulty is judged task by task. */
  batchSuccess?: SuccessRate;
  /** Factor on the weight of near copies. */
  nearCopyFactor: number;
  /** Of random answers and their reference, in worlds that compare by embeddings. */
  randomSimilarities: readonly (number | null)[];
}

function scoreTask(context: ScoringContext, task: TaskRecord, evidence: TaskEvidence): ScoreRecord {
  const { difficulty, guards } = context.experiment;
  const { successes, attempts, rate } = evidence.agent;
  const rewardedRate = evidence.batchSuccess === undefined ? rate : evidence.batchSuccess.rate;
  const randomRate = randomSuccessRate(context, task, evidence.randomSimilarities);
  const envReward =
    task.valid && rewardedRate !== null
      ? difficultyReward(rewardedRate, difficulty) * wordingFidelity(evidence.wordings)
      : null;
  return {
    task_id: task.id,
    source: task.source,
    kind: task.kind,
    difficulty: task.difficulty,
    valid: task.valid,
    attempts,
    successes,
    success_rate: rate,
    target_rate: task.valid ? rewardedRate : null,
    frozen_rate: evidence.frozen.rate,
    random_rate: randomRate,
    informative: successes > 0 && successes < attempts,
    ...(evidence.verdictsDiffer && { verdicts_differ: true as const }),
    ...(evidence.failure !== undefined && { failure: evidence.failure }),
    env_reward: envReward,
    guard: luckGuard(guards, rate, randomRate) * evidence.nearCopyFactor,
  };
}

/** Success rate of random answers to the task; null for an invalid one. */
function randomSuccessRate(
  { experiment: { seed, guards }, epoch, world }: ScoringContext,
  { id, spec }: TaskRecord,
  similarities: readonly (number | null)[],
): number | null {
  if (spec === null) return null;
  const taskSeed = randomAnswersSeed(seed, epoch, id);
  const verdicts = randomStream(deriveSeed(taskSeed, 'verdict'));
  const answers = drawRandomAnswers(world, spec, taskSeed, guards.randomAttempts);
  const rewards = answers.map(
    (answer, attempt) => world.score(spec, answer, verdicts, similarities[attempt] ?? undefined).reward,
  );
  return successRate(rewards, world.solvedFrom).rate!;
}
