import type { Benchmark } from '../suite.ts';
import { bamboogleClosedBook, bamboogleSearch } from './suites.ts';

/** Bamboogle (Press et al., arXiv 2210.03350): questions of two hops that no one page answers. */
export const bamboogle: Benchmark = { name: 'bamboogle', suites: [bamboogleClosedBook, bamboogleSearch] };
