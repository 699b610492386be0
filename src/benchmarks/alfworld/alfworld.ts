import type { Benchmark } from '../suite.ts';
import { alfworldSplits } from './games.ts';
import { byStepSuite, episodeSuite } from './suites.ts';

/** ALFWorld (Shridhar et al., arXiv 2010.03768): household tasks as text games. */
export const alfworld: Benchmark = {
  name: 'alfworld',
  suites: alfworldSplits.flatMap((split) => [
    episodeSuite(split, 'admissible'),
    episodeSuite(split, 'open'),
    byStepSuite(split),
  ]),
};
