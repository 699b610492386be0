import type { Comparison } from '../config/comparison.ts';
import type { ArmRun } from '../types/comparison-types.ts';

/** Seed by seed, so that what is compared under a seed is complete early. */
export const armRuns = (id: string, { seeds, arms }: Pick<Comparison, 'seeds' | 'arms'>): ArmRun[] =>
  seeds.flatMap((seed) => Object.keys(arms).map((arm) => ({ arm, seed, id: `${id}.${arm}.${seed}` })));

/** Candidates for each task that is probed, and attempts at each candidate that choose. */
export const candidatesPerTask = 4;
export const screening = 8;

/** Attempts that probing an agent takes at most: those that choose the tasks, and those at them. */
export const probingAttempts = ({ tasks, attempts }: { tasks: number; attempts: number }): number =>
  tasks * (candidatesPerTask * screening + attempts);
