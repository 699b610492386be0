import type { World } from './world.ts';

/** Whether an attempt with this reward counts as a success in the world. */
export const isSolved = ({ solvedFrom = 1 }: Pick<World, 'solvedFrom'>, reward: number): boolean =>
  reward >= solvedFrom;
