import { alfworld } from './alfworld/alfworld.ts';
import { apiBank } from './api-bank/api-bank.ts';
import { bamboogle } from './bamboogle/bamboogle.ts';
import { bfcl } from './bfcl/bfcl.ts';
import type { Benchmark } from './suite.ts';
import { travelPlanner } from './travelplanner/travelplanner.ts';

/** Every benchmark of this project. */
export const benchmarks: readonly Benchmark[] = [bfcl, apiBank, bamboogle, travelPlanner, alfworld];
