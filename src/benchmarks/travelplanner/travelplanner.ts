import type { Benchmark } from '../suite.ts';
import { travelSuite } from './suite.ts';

/**
 * TravelPlanner (Xie et al. 2024, arXiv 2402.01622): plans of trips, held to 8 commonsense and 5 hard
 * constraints.
 */
export const travelPlanner: Benchmark = {
  name: 'travelplanner',
  suites: (['train', 'validation'] as const).flatMap((split) =>
    (['soleplanning', 'tooluse'] as const).map((mode) => travelSuite(split, mode)),
  ),
};
