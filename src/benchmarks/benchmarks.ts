import type { Benchmark } from './suite.ts';

/** Every benchmark of this project. */
export const benchmarks: readonly Benchmark[] = [];
