import { ablationClaims } from './claims-ablations.ts';
import { learningClaims } from './claims-learning.ts';
import { measureClaims } from './claims-measures.ts';
import { isMethod } from './claim.ts';
import type { Claim, Facts } from './claim.ts';

/** The claims, judged for one arm. */
export interface Claims {
  /** The first arm of the file in which both policies learn; null where there is none. */
  arm: string | null;
  rows: Claim[];
}

/** What the method and its theory claim (GenEnv, 2512.19682), and whether it held in this comparison. */
export function claimsOf(facts: Facts): Claims {
  const main = facts.arms.find(({ arm }) => isMethod(facts.experiments[arm]!));
  return { arm: main?.arm ?? null, rows: main === undefined ? [] : [...learningClaims(facts, main), ...measureClaims(facts, main), ...ablationClaims(facts, main)] };
}
