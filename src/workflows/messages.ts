import { defineQuery } from '@temporalio/workflow';
import type { Progress } from '../contracts/progress.ts';

/** State of an experiment, for people and programs. */
export const progressQuery = defineQuery<Progress>('progress');

/** Where an epoch is. */
export interface EpochProgress {
  phase: string;
  rolloutsDone: number;
}
export const epochProgressQuery = defineQuery<EpochProgress>('epochProgress');
