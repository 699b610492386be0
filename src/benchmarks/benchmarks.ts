import { apiBank } from './api-bank/api-bank.ts';
import { bamboogle } from './bamboogle/bamboogle.ts';
import type { Benchmark } from './suite.ts';
import { travelPlanner } from './travelplanner/travelplanner.ts';

/** Every benchmark of this project. */
export const benchmarks: readonly Benchmark[] = [apiBank, bamboogle, travelPlanner];
