/** Inputs of the activities of a nightly curriculum. Field names are on the wire. */
import { z } from 'zod';
import { experimentSchema } from '../config/experiment.ts';
import { nightlySchema } from '../config/nightly.ts';
import { FileRef } from '../store/references.ts';
import { listOf, runOutcomeSchema } from './activity-inputs.ts';
import { runIdSchema } from './ids.ts';
import { epochSchema, phaseLimitsSchema } from './run-state.ts';

/** A committed epoch of a run. */
export const runEpochSchema = z.strictObject({ run: runIdSchema, epoch: epochSchema });
export type RunEpoch = z.infer<typeof runEpochSchema>;

/** How a nightly file's agents are compared. */
const comparison = nightlySchema.shape.evaluation.unwrap().shape;
const MAX_DEADLINE_MS = 60_000 * nightlySchema.shape.deadlineMinutes.unwrap().unwrap().maxValue!;

/** A night to start or to resume. */
export const nightPlanSchema = z.strictObject({
  nightly: z.strictObject({
    name: runIdSchema,
    significance: z.number().gt(0).max(0.5),
    evaluation: z.strictObject({
      samples: comparison.samples.unwrap(),
      temperature: comparison.temperature.unwrap(),
    }),
  }),
  night: epochSchema,
  /** Id of the night's experiment. */
  id: runIdSchema,
  /** Its file. */
  experiment: experimentSchema,
  /** What it starts from: the champion's epoch; null on a first night that starts fresh. */
  from: runEpochSchema.nullable(),
  deadlineMs: z.number().min(0).max(MAX_DEADLINE_MS).nullable(),
  settings: phaseLimitsSchema,
});
export type NightPlan = z.infer<typeof nightPlanSchema>;

export const openNightInput = z.strictObject({ file: z.unknown() });
/** How the night's experiment ended: the last epoch that it committed. */
export const candidateInput = z.strictObject({ night: nightPlanSchema, epoch: epochSchema });

const verdictsSchema = z.strictObject({ before: listOf(FileRef), after: listOf(FileRef) });
export type Verdicts = z.infer<typeof verdictsSchema>;

export const closeNightInput = candidateInput.extend({
  /** How the experiment ended. */
  outcome: runOutcomeSchema,
  /** Null if the night brought no new epoch. */
  verdicts: verdictsSchema.nullable(),
});
export const failNightInput = z.strictObject({ night: nightPlanSchema, reason: z.string().max(1_000_000) });

export type CandidateInput = z.infer<typeof candidateInput>;
export type CloseNightInput = z.infer<typeof closeNightInput>;
export type FailNightInput = z.infer<typeof failNightInput>;
