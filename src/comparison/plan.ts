import type { Comparison } from '../config/comparison.ts';
import type { Experiment } from '../config/experiment.ts';
import type { ArmRun } from '../types/comparison-inputs.ts';

/** The runs of a comparison, seed by seed, so that the first seeds are complete early. */
export const armRuns = (id: string, { seeds, arms }: Pick<Comparison, 'seeds' | 'arms'>): ArmRun[] =>
  seeds.flatMap((seed) => Object.keys(arms).map((arm) => ({ arm, seed, id: `${id}.${arm}.${seed}` })));

/** The experiment of one run: the arm's, under a seed, which its world may follow. */
export function experimentOf(
  { arms, worlds }: Pick<Comparison, 'arms' | 'worlds'>,
  { arm, seed }: Pick<ArmRun, 'arm' | 'seed'>,
): Experiment {
  const experiment = { ...arms[arm]!, seed };
  if (worlds === undefined) return experiment;
  const { world, evaluation } = experiment;
  return {
    ...experiment,
    // Worlds without hidden codes have no seed.
    world: 'seed' in world ? { ...world, seed } : world,
    // Tasks of small cells are few: arms that write short tasks would train on those they are judged by.
    evaluation: { excludeHeldOut: true, ...evaluation, heldOutSeed: seed },
  };
}

/** Candidates for each probed task, and attempts at each candidate that select the tasks. */
export const candidatesPerTask = 4;
export const screening = 8;

/**
 * Upper limit of the attempts that probing an agent takes: those that select the tasks, and those at them.
 */
export const probingAttempts = ({ tasks, attempts }: { tasks: number; attempts: number }): number =>
  tasks * (candidatesPerTask * screening + attempts);
