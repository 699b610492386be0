/** Inputs of the activities of comparisons. Field names are on the wire. */
import { z } from 'zod';
import { crossPlaySchema, probesSchema } from '../config/comparison-measures.ts';
import { FileRef } from '../store/references.ts';
import { listOf } from './activity-inputs.ts';
import { runIdSchema } from './ids.ts';
import { countSchema, epochSchema, runSchema, runStateSchema, textSchema, upTo } from './run-state.ts';

/** One arm under one seed: an experiment of its own. */
export const armRunSchema = z.strictObject({
  arm: textSchema(200),
  seed: z.int(),
  /** Id of the run and of its workflow. */
  id: runIdSchema,
});
export type ArmRun = z.infer<typeof armRunSchema>;

export const armRunInput = z.strictObject({ id: runIdSchema, run: armRunSchema });

const ofRun = { run: runSchema, epoch: epochSchema, state: runStateSchema };

/** The fields of a comparison's file. */
const { tasks: crossPlayTasks, samples } = crossPlaySchema.unwrap().unwrap().shape;
const { tasks: probedTasks, attempts } = probesSchema.unwrap().unwrap().shape;

export const crossTasksInput = z.strictObject({ ...ofRun, tasks: upTo(crossPlayTasks) });
export const crossPlayInput = z.strictObject({
  ...ofRun,
  samples: upTo(samples),
  tasks: listOf(z.strictObject({ epoch: epochSchema, file: FileRef })),
});
export const probeTasksInput = z.strictObject({ ...ofRun, tasks: upTo(probedTasks) });
export const probeAttemptsInput = z.strictObject({ ...ofRun, tasks: FileRef, attempts: upTo(attempts) });
/** `traces` has each attempt with its token ids, `outcomes` the result of each task. */
export const measureGradientsInput = z.strictObject({ ...ofRun, traces: FileRef, outcomes: FileRef });

/** Simulator of one epoch against agent of another. */
export const crossPlayCellSchema = z.strictObject({
  simulator: epochSchema,
  agent: epochSchema,
  successes: countSchema,
  attempts: countSchema,
});
export type CrossPlayCell = z.infer<typeof crossPlayCellSchema>;

export const crossPlayRecordSchema = z.strictObject({
  arm: textSchema(200),
  seed: z.int(),
  cells: listOf(crossPlayCellSchema),
});
export type CrossPlayRecord = z.infer<typeof crossPlayRecordSchema>;

/** One probed agent; `gradients` is null if its weights are not here. */
export const probeRecordSchema = z.strictObject({
  arm: textSchema(200),
  seed: z.int(),
  epoch: epochSchema,
  outcomes: FileRef,
  gradients: FileRef.nullable(),
});
export type ProbeRecord = z.infer<typeof probeRecordSchema>;

export const summarizeInput = z.strictObject({
  id: runIdSchema,
  crossPlay: listOf(crossPlayRecordSchema),
  probes: listOf(probeRecordSchema),
});

export type ArmRunInput = z.infer<typeof armRunInput>;
export type CrossTasksInput = z.infer<typeof crossTasksInput>;
export type CrossPlayInput = z.infer<typeof crossPlayInput>;
export type ProbeTasksInput = z.infer<typeof probeTasksInput>;
export type ProbeAttemptsInput = z.infer<typeof probeAttemptsInput>;
export type MeasureGradientsInput = z.infer<typeof measureGradientsInput>;
export type SummarizeInput = z.infer<typeof summarizeInput>;
