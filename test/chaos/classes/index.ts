import type { FaultClass } from '../fault-class.ts';
import { bucketClasses } from './bucket.ts';
import { clusterClasses } from './cluster.ts';
import { diskClasses } from './disk.ts';
import { fileClasses } from './files.ts';
import { modelServerClasses } from './model-server.ts';
import { operatorClasses } from './operator.ts';
import { payloadKeyClasses } from './payload-key.ts';
import { rankClasses } from './ranks.ts';
import { slurmClasses } from './slurm.ts';
import { temporalClasses } from './temporal.ts';
import { trainerClasses } from './trainer.ts';
import { workerClasses } from './worker.ts';

/** Every class of faults of the suite. */
export const classes: readonly FaultClass[] = [
  ...workerClasses,
  ...trainerClasses,
  ...modelServerClasses,
  ...temporalClasses,
  ...clusterClasses,
  ...fileClasses,
  ...diskClasses,
  ...operatorClasses,
  ...payloadKeyClasses,
  ...bucketClasses,
  ...rankClasses,
  ...slurmClasses,
];
