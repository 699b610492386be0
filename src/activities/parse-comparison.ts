import { changedFields } from '../contracts/changed-fields.ts';
import { comparisonIdPattern, comparisonIdRule, parseComparison } from '../contracts/comparison.ts';
import type { ArmRun, Comparison, ComparisonPlan } from '../contracts/comparisons.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { ParseInput } from '../contracts/phases.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { Ports } from './ports.ts';

/**
 * Reads what the workflow was started with: the same id with the same file is the same comparison, with another file it is refused. How many
 * runs are under way at a time may change.
 * @throws InvalidConfig naming the field
 */
export function createParseComparison({ comparisonFolder }: Ports) {
  return async ({ id, file }: ParseInput): Promise<ComparisonPlan> => {
    if (!comparisonIdPattern.test(id)) throw new InvalidConfig(`workflow id: got ${JSON.stringify(id)}; it is the comparison's id: ${comparisonIdRule}`);
    const comparison = parseComparison(file);
    const folder = comparisonFolder(id);
    const existing = await folder.read();
    if (existing !== undefined && hashOf(decisive(existing.comparison)) !== hashOf(decisive(comparison))) {
      throw new InvalidConfig(`comparison: the id ${JSON.stringify(id)} belongs to another comparison file (${changedFields(existing.comparison, comparison)}); start this one under another id`);
    }
    if (existing === undefined) await folder.write(comparison);
    const runs = armRuns(id, comparison);
    return { id, runs, concurrency: comparison.concurrency, crossPlay: runs.filter(({ arm, seed }) => comparison.crossPlay?.arms.includes(arm) === true && comparison.crossPlay.seeds.includes(seed)) };
  };
}

const decisive = (comparison: Comparison): object => ({ ...comparison, concurrency: null });

/** Seed by seed, so that what is compared under a seed is complete early. */
export const armRuns = (id: string, { seeds, arms }: Pick<Comparison, 'seeds' | 'arms'>): ArmRun[] => seeds.flatMap((seed) => Object.keys(arms).map((arm) => ({ arm, seed, id: `${id}.${arm}.${seed}` })));
