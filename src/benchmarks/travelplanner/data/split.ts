import type { Sandbox } from './sandbox.ts';
import type { TravelTask } from './task.ts';

/** A split of the benchmark with all that its tasks need. */
export interface Split {
  tasks: readonly TravelTask[];
  sandbox: Sandbox;
  /** All that a planner needs for a task, as the official sole-planning prompt gives it. */
  reference: (task: TravelTask) => string;
  /** An annotated plan, where the split has one. */
  goldPlan: (task: TravelTask) => readonly unknown[] | undefined;
  /** sha256 over the bytes of its files. */
  dataHash: string;
}

/** Sizes of a split, which the official rates are of whatever was delivered. */
export interface SplitSize {
  tasks: number;
  /** Constraints of all its tasks. */
  commonsense: number;
  hard: number;
}

/** evaluation/eval.py has these as numbers. */
export const splitSizes = {
  train: { tasks: 45, commonsense: 360, hard: 105 },
  validation: { tasks: 180, commonsense: 1440, hard: 420 },
} as const satisfies Record<string, SplitSize>;

export type SplitName = keyof typeof splitSizes;
