import { z } from 'zod';
import type { Case } from '../../suite.ts';
import type { Sandbox } from './sandbox.ts';

const localConstraintSchema = z.object({
  /** `smoking`, `parties`, `children under 10`, `visitors` or `pets`: must be allowed. */
  'house rule': z.string().nullable(),
  /** Cuisines that must each be had once, outside of the city of departure. */
  cuisine: z.array(z.string()).nullable(),
  /** `shared room`, `not shared room`, `private room` or `entire room`. */
  'room type': z.string().nullable(),
  /** `no flight` or `no self-driving`. */
  transportation: z.string().nullable(),
});

/** A query as the benchmark structures it. */
export const querySchema = z.object({
  org: z.string(),
  /** A city for 3 days, a state for 5 and 7. */
  dest: z.string(),
  days: z.number().int().positive(),
  visiting_city_number: z.number().int().positive(),
  date: z.array(z.iso.date()),
  people_number: z.number().int().positive(),
  local_constraint: localConstraintSchema,
  /** Dollars, for all people. */
  budget: z.number(),
  query: z.string(),
  level: z.enum(['easy', 'medium', 'hard']),
});

export type Query = z.infer<typeof querySchema>;

/** A task of the benchmark: line `idx` of its split, from 1. */
export interface PlannerTask extends Case {
  idx: number;
  query: Query;
}

/** A split of the benchmark with all that its tasks need. */
export interface Split {
  tasks: readonly PlannerTask[];
  sandbox: Sandbox;
  /** All that a planner needs for a task, as the official sole-planning prompt gives it. */
  reference: (task: PlannerTask) => string;
  /** An annotated plan, if the split has one. */
  goldPlan: (task: PlannerTask) => readonly unknown[] | undefined;
  /** sha256 over the bytes of its files. */
  dataHash: string;
}

/** Sizes of a split or of a part of it: the denominators of the rates, regardless of what was delivered. */
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
