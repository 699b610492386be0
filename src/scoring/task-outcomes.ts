import type { Wordings } from '../coevolution/difficulty-reward.ts';
import { clusterSizes, discrimination, discriminationGate } from '../coevolution/guards.ts';
import { successRate } from '../coevolution/success-rate.ts';
import type { SuccessRate } from '../coevolution/success-rate.ts';
import type { Guards } from '../config/method.ts';
import type { RewardRecord, TraceRecord } from '../types/records.ts';

type Role = RewardRecord['role'];

/**
 * What the groups of each task of an epoch came to: counts alone, so that an epoch of any size takes little.
 */
export class TaskOutcomeCounts {
  /** Of the tasks whose observations the simulator worded. */
  readonly #wordings = new Map<number, Wordings>();
  /** Of tasks whose attempts fail for reasons that the world names: how often each. */
  readonly #failures = new Map<number, Map<string, number>>();
  readonly #differ: Uint8Array;
  readonly #solvedFrom: number;
  readonly #counts: Record<Role, { successes: Uint32Array; attempts: Uint32Array }>;

  /** @param solvedFrom reward from which an attempt counts as solved */
  constructor(tasks: number, solvedFrom = 1) {
    this.#solvedFrom = solvedFrom;
    const none = () => ({ successes: new Uint32Array(tasks), attempts: new Uint32Array(tasks) });
    this.#differ = new Uint8Array(tasks);
    this.#counts = { agent: none(), frozen: none() };
  }

  add(task: number, role: Role, scored: readonly RewardRecord[]): void {
    const { successes, attempts } = successRate(
      scored.map(({ reward }) => reward),
      this.#solvedFrom,
    );
    this.#counts[role].successes[task]! += successes;
    this.#counts[role].attempts[task]! += attempts;
    const failures = this.#failures.get(task) ?? new Map<string, number>();
    for (const { failure } of scored)
      if (failure !== undefined)
        this.#failures.set(task, failures.set(failure, (failures.get(failure) ?? 0) + 1));
    if (scored.some(({ reward, second_reward }) => reward !== second_reward)) this.#differ[task] = 1;
  }

  /** Counts the wordings in the traces of a task. */
  addWordings(task: number, traces: readonly TraceRecord[]): void {
    const turns = traces.flatMap(({ turns: of }) => of ?? []).filter(({ wording }) => wording !== null);
    if (turns.length === 0) return;
    const { worded, inconsistent } = this.wordings(task);
    this.#wordings.set(task, {
      worded: worded + turns.length,
      inconsistent: inconsistent + turns.filter(({ consistent }) => !consistent).length,
    });
  }

  wordings(task: number): Wordings {
    return this.#wordings.get(task) ?? { worded: 0, inconsistent: 0 };
  }

  /** Share of all wordings that were not true; undefined where there were none. */
  inconsistentShare(): number | undefined {
    const all = [...this.#wordings.values()].reduce(
      (sum, { worded, inconsistent }) => ({
        worded: sum.worded + worded,
        inconsistent: sum.inconsistent + inconsistent,
      }),
      { worded: 0, inconsistent: 0 },
    );
    return all.worded === 0 ? undefined : all.inconsistent / all.worded;
  }

  of(task: number, role: Role): SuccessRate {
    return rateOf(this.#counts[role].successes[task]!, this.#counts[role].attempts[task]!);
  }

  /** Why the attempts at a task fail most often, where none was solved and the world says why. */
  failure(task: number): { failure?: string } {
    const [most] = [...(this.#failures.get(task) ?? [])].sort(
      ([left, one], [right, other]) => other - one || (left < right ? -1 : 1),
    );
    return most === undefined || this.#counts.agent.successes[task]! > 0 ? {} : { failure: most[0] };
  }

  /** Whether two verdicts on one answer differed. */
  verdictsDiffer(task: number): boolean {
    return this.#differ[task] === 1;
  }

  /** The agent on `count` tasks from `first` on, taken as one. */
  together(first: number, count: number): SuccessRate {
    const sum = (counts: Uint32Array): number =>
      counts.subarray(first, first + count).reduce((total, value) => total + value, 0);
    return rateOf(sum(this.#counts.agent.successes), sum(this.#counts.agent.attempts));
  }
}

const rateOf = (successes: number, attempts: number): SuccessRate => ({
  successes,
  attempts,
  rate: attempts === 0 ? null : successes / attempts,
});

/**
 * Factor on a task's regression weight, by the agent's success on it and a random policy's: 0 where luck
 * decides.
 */
export function luckGuard(guards: Guards, rate: number | null, random: number | null): number {
  if (random !== null && random > (guards.randomSuccess ?? 1)) return 0;
  // A task nobody solved is hard, not random: its reward is low as it is.
  return guards.discrimination && rate !== 0 ? discriminationGate(discrimination(rate, random)) : 1;
}

/** Factor on the weight of each of an epoch's tasks: a cluster of near copies weighs as one. */
export function clusterGuards({ clusterDistance }: Guards, specs: readonly (string | null)[]): number[] {
  if (clusterDistance === undefined || clusterDistance === null) return specs.map(() => 1);
  const sizes = clusterSizes(
    specs.flatMap((spec) => (spec === null ? [] : [spec])),
    clusterDistance,
  ).values();
  return specs.map((spec) => (spec === null ? 1 : 1 / sizes.next().value!));
}
