import { z } from 'zod';

import type { Case } from '../../suite.ts';

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
export interface TravelTask extends Case {
  idx: number;
  query: Query;
}
