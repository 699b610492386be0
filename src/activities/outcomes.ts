import { successRate } from '../coevolution/success-rate.ts';
import type { SuccessRate } from '../coevolution/success-rate.ts';
import type { RewardRecord } from '../contracts/records.ts';

type Role = RewardRecord['role'];

/** What the groups of each task of an epoch came to: counts alone, so that an epoch of any size takes little. */
export class Outcomes {
  readonly #counts: Record<Role, { successes: Uint32Array; attempts: Uint32Array }>;

  constructor(tasks: number) {
    const none = () => ({ successes: new Uint32Array(tasks), attempts: new Uint32Array(tasks) });
    this.#counts = { agent: none(), frozen: none() };
  }

  add(task: number, role: Role, scored: readonly RewardRecord[]): void {
    const { successes, attempts } = successRate(scored.map(({ reward }) => reward));
    this.#counts[role].successes[task]! += successes;
    this.#counts[role].attempts[task]! += attempts;
  }

  of(task: number, role: Role): SuccessRate {
    return rateOf(this.#counts[role].successes[task]!, this.#counts[role].attempts[task]!);
  }

  /** The agent on `count` tasks from `first` on, taken as one. */
  together(first: number, count: number): SuccessRate {
    const sum = (counts: Uint32Array): number => counts.subarray(first, first + count).reduce((total, value) => total + value, 0);
    return rateOf(sum(this.#counts.agent.successes), sum(this.#counts.agent.attempts));
  }
}

const rateOf = (successes: number, attempts: number): SuccessRate => ({ successes, attempts, rate: attempts === 0 ? null : successes / attempts });
