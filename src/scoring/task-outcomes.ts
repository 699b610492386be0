import type { TimeSlices } from '../async/time-slices.ts';
import type { Wordings } from '../coevolution/difficulty-reward.ts';
import { discrimination, discriminationGate } from '../coevolution/guards.ts';
import { clusterSizes } from '../coevolution/task-clusters.ts';
import { successRate } from '../coevolution/success-rate.ts';
import type { SuccessRate } from '../coevolution/success-rate.ts';
import type { Guards } from '../config/guards.ts';
import type { RewardRecord, TraceRecord } from '../types/records.ts';

type Role = RewardRecord['role'];

/** What the groups of one task came to. */
export interface TaskOutcomes {
  agent: SuccessRate;
  frozen: SuccessRate;
  wordings: Wordings;
  /** Whether two verdicts on one answer differed. */
  verdictsDiffer: boolean;
  /** Why the agent's rollouts fail most often; absent if one was solved, and in worlds that do not say. */
  failure?: string;
}

/** Counts the outcomes of an epoch's tasks. It keeps a few numbers of each task, for epochs of any size. */
export class TaskOutcomeCounts {
  /** By task, if the simulator worded its observations. */
  readonly #wordings = new Map<number, Wordings>();
  /** By task and reason, in worlds that name a reason: how many rollouts failed for it. */
  readonly #failures = new Map<number, Map<string, number>>();
  readonly #verdictsDiffer: Uint8Array;
  readonly #solvedFrom: number;
  readonly #counts: Record<Role, { successes: Uint32Array; attempts: Uint32Array }>;

  /**
   * @param tasks number of tasks; a task is named by its index
   * @param solvedFrom reward from which a rollout counts as solved
   */
  constructor(tasks: number, solvedFrom = 1) {
    this.#solvedFrom = solvedFrom;
    const zeros = () => ({ successes: new Uint32Array(tasks), attempts: new Uint32Array(tasks) });
    this.#verdictsDiffer = new Uint8Array(tasks);
    this.#counts = { agent: zeros(), frozen: zeros() };
  }

  add(task: number, role: Role, scored: readonly RewardRecord[]): void {
    const rewards = scored.map(({ reward }) => reward);
    const { successes, attempts } = successRate(rewards, this.#solvedFrom);
    this.#counts[role].successes[task]! += successes;
    this.#counts[role].attempts[task]! += attempts;
    for (const { failure } of scored) if (failure !== undefined) this.#addFailure(task, failure);
    if (scored.some(({ reward, second_reward }) => reward !== second_reward)) this.#verdictsDiffer[task] = 1;
  }

  #addFailure(task: number, failure: string): void {
    const failures = this.#failures.get(task) ?? new Map<string, number>();
    failures.set(failure, (failures.get(failure) ?? 0) + 1);
    this.#failures.set(task, failures);
  }

  /** Counts the wordings in the traces of a task. */
  addWordings(task: number, traces: readonly TraceRecord[]): void {
    const turns = traces.flatMap((trace) => trace.turns ?? []).filter(({ wording }) => wording !== null);
    if (turns.length === 0) return;
    const { worded, inconsistent } = this.#wordingsOf(task);
    this.#wordings.set(task, {
      worded: worded + turns.length,
      inconsistent: inconsistent + turns.filter(({ consistent }) => !consistent).length,
    });
  }

  forTask(task: number): TaskOutcomes {
    const failure = this.#mostFrequentFailure(task);
    return {
      agent: this.#rateOf(task, 'agent'),
      frozen: this.#rateOf(task, 'frozen'),
      wordings: this.#wordingsOf(task),
      verdictsDiffer: this.#verdictsDiffer[task] === 1,
      ...(failure !== undefined && { failure }),
    };
  }

  /** The agent's success on `count` tasks from `first` on, taken as one task. */
  together(first: number, count: number): SuccessRate {
    const total = (counts: Uint32Array): number =>
      counts.subarray(first, first + count).reduce((sum, value) => sum + value, 0);
    const { successes, attempts } = this.#counts.agent;
    return rateOf(total(successes), total(attempts));
  }

  /** Share of all wordings that were not true; undefined if there were none. */
  inconsistentShare(): number | undefined {
    let [worded, inconsistent] = [0, 0];
    for (const wordings of this.#wordings.values()) {
      worded += wordings.worded;
      inconsistent += wordings.inconsistent;
    }
    return worded === 0 ? undefined : inconsistent / worded;
  }

  #rateOf(task: number, role: Role): SuccessRate {
    const { successes, attempts } = this.#counts[role];
    return rateOf(successes[task]!, attempts[task]!);
  }

  #wordingsOf(task: number): Wordings {
    return this.#wordings.get(task) ?? { worded: 0, inconsistent: 0 };
  }

  /** Undefined if the agent solved the task; of equally frequent failures the first by name. */
  #mostFrequentFailure(task: number): string | undefined {
    if (this.#counts.agent.successes[task]! > 0) return undefined;
    const failures = [...(this.#failures.get(task) ?? [])];
    failures.sort(([nameA, countA], [nameB, countB]) => countB - countA || (nameA < nameB ? -1 : 1));
    return failures[0]?.[0];
  }
}

const rateOf = (successes: number, attempts: number): SuccessRate => ({
  successes,
  attempts,
  rate: attempts === 0 ? null : successes / attempts,
});

/**
 * Factor on a task's regression weight: 0 if luck decides, else 1.
 * @param rate the agent's success rate; null = not measured
 * @param randomRate that of random answers; null for an invalid task
 */
export function luckGuard(guards: Guards, rate: number | null, randomRate: number | null): number {
  if (randomRate !== null && randomRate > (guards.randomSuccess ?? 1)) return 0;
  // A task that nobody solves is hard, not random: its reward is low already.
  return guards.discrimination && rate !== 0 ? discriminationGate(discrimination(rate, randomRate)) : 1;
}

/**
 * Factor on the weight of each task of an epoch, so that a cluster of near copies weighs as much as one task.
 * @param specs null for an invalid task
 */
export async function clusterGuards(
  { clusterDistance }: Guards,
  specs: readonly (string | null)[],
  slices?: TimeSlices,
): Promise<number[]> {
  if (clusterDistance === undefined || clusterDistance === null) return specs.map(() => 1);
  const valid = specs.flatMap((spec) => (spec === null ? [] : [spec]));
  const sizes = (await clusterSizes(valid, clusterDistance, slices)).values();
  return specs.map((spec) => (spec === null ? 1 : 1 / sizes.next().value!));
}
