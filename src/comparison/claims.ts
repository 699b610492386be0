import { ablationClaims } from './claims-ablations.ts';
import { learningClaims } from './claims-learning.ts';
import { measureClaims } from './claims-measures.ts';
import { firstOfEachPreset } from './arms.ts';
import type { Claim, Facts } from './claim.ts';

/** The claims, judged for one arm. */
export interface Claims {
  arm: string;
  rows: Claim[];
}

/** What the method and its theory claim (GenEnv, 2512.19682), and whether it held in this comparison, for the first arm of each preset. */
export const claimsOf = (facts: Facts): Claims[] =>
  firstOfEachPreset(facts.experiments).map((arm) => {
    const main = facts.arms.find((one) => one.arm === arm)!;
    return {
      arm,
      rows: [...learningClaims(facts, main), ...measureClaims(facts, main), ...ablationClaims(facts, main)],
    };
  });
