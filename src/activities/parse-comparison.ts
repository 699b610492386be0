import { changedFields } from '../contracts/changed-fields.ts';
import { comparisonIdPattern, comparisonIdRule, parseComparison } from '../contracts/comparison.ts';
import type { ArmRun, Comparison, ComparisonPlan } from '../contracts/comparisons.ts';
import type { Experiment } from '../contracts/experiment.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import type { ParseInput } from '../contracts/phases.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { Ports } from './ports.ts';
import { workflowSettings } from './workflow-settings.ts';

/**
 * Reads what the workflow was started with: the same id with the same file is the same comparison, with one that changes or drops a run it is
 * refused. Arms and seeds may be added, and how many runs are under way at a time, and what is measured once they are done, may change: the
 * new file then stands for the old one.
 * @throws InvalidConfig naming the field
 */
export function createParseComparison(ports: Ports) {
  return async ({ id, file }: ParseInput): Promise<ComparisonPlan> => {
    if (!comparisonIdPattern.test(id))
      throw new InvalidConfig(
        `workflow id: got ${JSON.stringify(id)}; it is the comparison's id: ${comparisonIdRule}`,
      );
    const comparison = parseComparison(file);
    for (const [arm, experiment] of Object.entries(comparison.arms)) await checkWorld(ports, arm, experiment);
    const folder = ports.comparisonFolder(id);
    const existing = await folder.read();
    const changes =
      existing === undefined
        ? ''
        : changedFields(decisive(existing.comparison), decisive(comparison, existing.comparison));
    if (changes !== '')
      throw new InvalidConfig(
        `comparison: the id ${JSON.stringify(id)} belongs to another comparison file (${changes}); start this one under another id`,
      );
    if (existing === undefined || hashOf(existing.comparison) !== hashOf(comparison))
      await folder.write(comparison);
    const runs = armRuns(id, comparison);
    const of = (measure: { arms: string[]; seeds: number[] } | null): ArmRun[] =>
      runs.filter(
        ({ arm, seed }) => measure !== null && measure.arms.includes(arm) && measure.seeds.includes(seed),
      );
    return {
      id,
      runs,
      concurrency: comparison.concurrency,
      crossPlay: of(comparison.crossPlay),
      probes: of(comparison.probes),
    };
  };
}

/** Whether this worker has the world, and the world can serve the arm: found now, not by the arm's first run. */
async function checkWorld({ world }: Ports, arm: string, experiment: Experiment): Promise<void> {
  try {
    workflowSettings(experiment, await world(experiment.world));
  } catch (error) {
    throw error instanceof InvalidConfig
      ? new InvalidConfig(`comparison: arms.${arm}: ${error.message.replace(/^experiment: /, '')}`)
      : error;
  }
}

/** What the runs follow from. @param before says which runs: those of its arms and seeds */
const decisive = ({ name, seeds, arms }: Comparison, before?: Comparison): object => ({
  name,
  seeds: before === undefined ? seeds : before.seeds.filter((seed) => seeds.includes(seed)),
  arms:
    before === undefined
      ? arms
      : Object.fromEntries(Object.entries(arms).filter(([arm]) => arm in before.arms)),
});

/** Seed by seed, so that what is compared under a seed is complete early. */
export const armRuns = (id: string, { seeds, arms }: Pick<Comparison, 'seeds' | 'arms'>): ArmRun[] =>
  seeds.flatMap((seed) => Object.keys(arms).map((arm) => ({ arm, seed, id: `${id}.${arm}.${seed}` })));
