import type { FaultClass } from '../fault-class.ts';
import { modelServerClasses } from './model-server.ts';
import { temporalClasses } from './temporal.ts';
import { workerClasses } from './worker.ts';

/** Every class of faults of the suite. */
export const classes: readonly FaultClass[] = [...workerClasses, ...modelServerClasses, ...temporalClasses];
