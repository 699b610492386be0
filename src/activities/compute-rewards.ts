import { difficultyReward } from '../coevolution/difficulty-reward.ts';
import { discrimination, discriminationGate } from '../coevolution/discrimination.ts';
import { groupAdvantages } from '../coevolution/group-advantage.ts';
import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import { successRate } from '../coevolution/success-rate.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { ComputeRewardsInput, Rewards } from '../contracts/phases.ts';
import type { RewardRecord, ScoreRecord, SeedTaskRecord, TaskRecord, TraceRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import type { World } from '../worlds/world.ts';
import { EpochSummary } from './epoch-summary.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';

/** What the groups of one task came to. */
interface Outcome {
  agent: number[];
  frozen: number[];
}

/**
 * Scores every answer by code, twice, and every task by its answers (GenEnv eqs. 1 to 3). Traces stream through; what stays
 * in memory is one group and a few numbers a task.
 */
export function createComputeRewards(ports: Ports) {
  return (input: ComputeRewardsInput): Promise<Rewards> =>
    phase(ports, 'reward', input, async ({ experiment, world }) => {
      const tasks = await collect(ports.store.records<TaskRecord>(input.tasks));
      const byId = new Map(tasks.map((task) => [task.id, task]));
      const outcomes = new Map<string, Outcome>(tasks.map(({ id }) => [id, { agent: [], frozen: [] }]));
      const summary = new EpochSummary(experiment);
      const { heartbeat } = ports.attempt();
      let answers = 0;
      const rewards = await ports.store.putRecords(
        (async function* () {
          for await (const group of groups(traces(ports, input))) {
            const { task_id, role } = group[0]!;
            const scored = scoreGroup(experiment, world, byId.get(task_id)!, group);
            outcomes.get(task_id)![role].push(...scored.map(({ reward }) => reward));
            summary.add(group, scored);
            heartbeat({ answers: (answers += group.length) });
            yield* scored;
          }
        })(),
      );
      const scores = scoreTasks(experiment, input.epoch, world, tasks, outcomes);
      const archive = await collect(ports.store.records<SeedTaskRecord>(input.state.train_pool));
      return { rewards, scores: await ports.store.putRecords(scores), metrics: summary.metrics(tasks, scores, archive.map(({ spec }) => spec)) };
    });
}

async function* traces(ports: Ports, input: ComputeRewardsInput): AsyncGenerator<TraceRecord> {
  for (const file of input.traces) yield* ports.store.records<TraceRecord>(file);
}

/** Neighbouring traces of one task and role: a group is always whole, since it is one prompt of one request. */
async function* groups(all: AsyncIterable<TraceRecord>): AsyncGenerator<TraceRecord[]> {
  let group: TraceRecord[] = [];
  for await (const trace of all) {
    if (group[0] && (group[0].task_id !== trace.task_id || group[0].role !== trace.role)) {
      yield group;
      group = [];
    }
    group.push(trace);
  }
  if (group.length > 0) yield group;
}

function scoreGroup({ agent }: Experiment, world: World, task: TaskRecord, group: readonly TraceRecord[]): RewardRecord[] {
  const verdicts = group.map(({ sampled }) => ({ first: world.score(task.spec!, sampled.text), second: world.score(task.spec!, sampled.text) }));
  const { advantages } = groupAdvantages(verdicts.map(({ first }) => first.reward), { scaleByStd: agent.training?.scaleByStd ?? false });
  return group.map(({ id, task_id, role, sampled }, index) => ({
    id,
    task_id,
    role,
    reward: verdicts[index]!.first.reward,
    second_reward: verdicts[index]!.second.reward,
    well_formed: verdicts[index]!.first.wellFormed,
    advantage: role === 'agent' ? advantages[index]! : 0,
    answer: sampled.text,
  }));
}

function scoreTasks({ seed, difficulty, guards }: Experiment, epoch: number, world: World, tasks: readonly TaskRecord[], outcomes: ReadonlyMap<string, Outcome>): ScoreRecord[] {
  const batches = new Map<string, number[]>();
  for (const { id, batch_id, source } of tasks) if (source === 'new') batches.set(batch_id, [...(batches.get(batch_id) ?? []), ...outcomes.get(id)!.agent]);
  return tasks.map((task) => {
    const { agent, frozen } = outcomes.get(task.id)!;
    const { successes, attempts, rate } = successRate(agent);
    const target = difficulty.per === 'batch' && task.source === 'new' ? successRate(batches.get(task.batch_id)!).rate : rate;
    const random = task.spec === null ? null : randomRate(world, task.spec, guards.randomAttempts, deriveSeed(seed, epoch, 'random-policy', task.id));
    return {
      task_id: task.id,
      source: task.source,
      kind: task.kind,
      difficulty: task.difficulty,
      valid: task.valid,
      attempts,
      successes,
      success_rate: rate,
      target_rate: task.valid ? target : null,
      frozen_rate: successRate(frozen).rate,
      random_rate: random,
      informative: successes > 0 && successes < attempts,
      env_reward: task.valid && target !== null ? difficultyReward(target, difficulty) : null,
      guard: guards.discrimination ? discriminationGuard(rate, random) : 1,
    };
  });
}

/** 0 for a task that a random policy solves as often as the agent. A task nobody solved is hard, not random: its reward is low as it is. */
const discriminationGuard = (rate: number | null, random: number | null): number => (rate === 0 ? 1 : discriminationGate(discrimination(rate, random)));

function randomRate(world: World, spec: string, attempts: number, seed: number): number {
  const random = randomStream(seed);
  return successRate(Array.from({ length: attempts }, () => world.score(spec, world.randomAnswer(spec, random)).reward)).rate!;
}
