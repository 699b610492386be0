import { z } from 'zod';

/** Settings that the worlds of this project have in common, and what an experiment file is checked with. */

/**
 * Longest texts of a world in characters, ends of texts included: for a model from scratch each is a token.
 */
export interface TextLimits {
  agent: PolicyTexts;
  environment: PolicyTexts;
}

export interface PolicyTexts {
  /** What the policy writes, such as `task`. */
  what: string;
  answer: number;
  prompt: number;
  /** Answers in one rollout. */
  turns?: number;
  /** What the policy reads between two of its answers. */
  observation?: number;
}

export const seedField = (what: string) => z.int().min(0).default(0).describe(what);

export const share = (fallback: number, what: string) =>
  z.number().min(0).max(1).default(fallback).describe(what);

/** Two numbers, the smaller first (`rangeProblems`). */
export const rangeField = (fallback: [number, number], what: string) =>
  z
    .tuple([z.int().positive().max(1_000), z.int().positive().max(1_000)])
    .default(fallback)
    .describe(what);

export const baseTasksField = (fallback: number) =>
  z.int().positive().max(100_000).default(fallback).describe('Base tasks, which the simulator varies.');

export const heldOutPerCellField = (fallback: number, cells: string) =>
  z.int().positive().max(1_000).default(fallback).describe(`Held-out tasks for each ${cells}.`);

export const easyTailField = (fallback: number, what = 'any length up to the seed’s') =>
  share(fallback, `Share of the simulator’s corpus with ${what}.`);

export const warmUpField = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .describe('The corpora that from-scratch models are warmed up with.');

/** Ranges in the wrong order, or beyond what the world has. */
export function* rangeProblems(
  ranges: Record<string, readonly [number, number]>,
  limit: { field: string; value: number },
  order = 'the shorter length first',
): Generator<string> {
  for (const [field, [from, to]] of Object.entries(ranges)) {
    if (from > to) yield `world.${field}: got [${from}, ${to}]; expected ${order}`;
    if (Math.max(from, to) > limit.value)
      yield `world.${field}: got [${from}, ${to}]; expected at most ${limit.field} (${limit.value})`;
  }
}
