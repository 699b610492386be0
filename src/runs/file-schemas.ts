/**
 * What the files of a run's folder may hold. Whoever shares the disk can write there, so nothing of them is
 * trusted before these schemas have seen it.
 */
import { z } from 'zod';
import { retunableFields } from '../config/retune.ts';
import { isRunId } from '../store/phase-cache.ts';
import { evaluationSchema } from '../config/evaluation.ts';
import { experimentSchema } from '../config/experiment.ts';
import { FileRef } from '../store/references.ts';
import { commitInput } from '../types/activity-inputs.ts';
import { caseShardSchema } from '../types/evaluation-inputs.ts';
import { policyVersionSchema, runStateSchema, textSchema } from '../types/run-state.ts';

const epoch = z.int().min(0).max(1_000_000_000);
const runId = z.string().refine(isRunId, 'expected the id of a run');
const texts = z.record(z.string(), z.unknown());

/** A line of `events.jsonl`; fields that only people read are left as they are. */
export const eventSchema = z.looseObject({
  type: z.string(),
  time: z.string().optional(),
  at: z.string().optional(),
  epoch: epoch.nullish(),
  fromEpoch: epoch.optional(),
  workflow: z.string().optional(),
  phase: z.string().optional(),
  attempt: epoch.optional(),
  reason: z.string().optional(),
  note: z.string().optional(),
  message: z.string().optional(),
  outcome: z.string().optional(),
  request: z.string().optional(),
  identity: z.string().optional(),
  job: z.string().optional(),
  seconds: z.number().min(0).optional(),
});
export type RunEvent = z.infer<typeof eventSchema>;

/** The event of a rewind that has begun. */
export const rewindSchema = z.object({ epoch, set: texts });

export const metricsSchema = z.record(z.string(), z.number().nullable());

/** A line of `metrics.jsonl`. */
export const metricsLineSchema = z.looseObject({
  epoch,
  metrics: metricsSchema.optional(),
  time: z.record(z.string(), z.number()).optional(),
  at: z.string().optional(),
});
export type MetricsLine = z.infer<typeof metricsLineSchema>;

/**
 * A line of `ledger.jsonl`: of its chain of hashes nothing, but what the next epoch, a fork and an evaluation
 * start from.
 */
export const ledgerLineSchema = z.looseObject({
  epoch,
  inputs: z.looseObject({ experiment: FileRef, settings: z.record(z.string(), z.number()) }),
  outputs: z.looseObject({ ...commitInput.shape.outputs.shape, state: runStateSchema }),
  metrics: metricsSchema,
  notes: z.array(z.string()),
});

/** What an overview shows of a line: lines of made-up runs and of other versions have little more. */
export const shownLineSchema = z.looseObject({
  epoch,
  outputs: z.looseObject({ state: z.looseObject({ tokens: z.number() }).optional() }),
});
export type ShownLine = z.infer<typeof shownLineSchema>;

/** `fork.json`. */
export const forkSchema = z.strictObject({
  run: runId,
  epoch,
  line: z.looseObject({
    epoch,
    outputs: texts,
    metrics: metricsSchema,
    notes: z.array(z.string()),
  }),
});

/** `retunes.json`. The values are checked with the experiment that they are set in. */
export const retunesSchema = z.array(
  z.strictObject({
    fromEpoch: epoch,
    set: z.partialRecord(z.enum(retunableFields), z.unknown()),
    time: z.string(),
  }),
);

const runEpoch = z.object({ run: runId, epoch });
const count = z.int().min(0);
const rate = z.number().min(0).max(1);
const refs = z.array(FileRef);

/** A line of `nights.jsonl`, which decides what the next night starts from. */
export const nightSchema = z.object({
  night: z.int().min(1),
  outcome: z.enum(['promoted', 'kept', 'abandoned', 'failed']),
  reason: z.string(),
  standing: runEpoch.nullable(),
  candidate: runEpoch.nullable(),
  test: z
    .object({
      better: count,
      worse: count,
      tied: count,
      p: rate,
      tasks: count,
      samples: count,
      significance: rate,
      before: z.number(),
      after: z.number(),
      verdicts: z.object({ before: refs, after: refs }),
    })
    .nullable(),
  time: z.string(),
});

/** The record of an evaluation in the store: its file as it runs, and the policy that it means. */
export const evaluationRecordSchema = z.looseObject({
  evaluation: evaluationSchema,
  policy: z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('gold') }),
    z.looseObject({ type: z.literal('served'), baseUrl: z.string(), model: z.string() }),
    z.looseObject({ type: z.literal('run'), run: runId, epoch, version: policyVersionSchema }),
  ]),
});

const score = z.looseObject({ name: z.string(), value: z.number() });

/** `results.json` of an evaluation: what scoring again, comparisons and reports read of it. */
export const evaluationResultsSchema = evaluationRecordSchema.extend({
  id: z.string(),
  record: FileRef,
  identity: z.string(),
  suites: z.array(
    z.union([
      z.looseObject({ name: z.string(), skipped: z.string() }),
      z.looseObject({
        name: z.string(),
        skipped: z.null(),
        cases: count,
        versions: z.record(z.string(), z.string()),
        scores: z.array(score),
      }),
    ]),
  ),
  aggregates: z.array(score),
  shards: z.array(
    caseShardSchema.loose().extend({ answered: z.looseObject({ answers: FileRef }), verdicts: FileRef }),
  ),
  judged: count,
});

/** `comparison.json`: the file of a comparison with each arm's experiment. */
export const startedComparisonSchema = z.looseObject({
  name: z.string(),
  seeds: z.array(z.int()),
  worlds: z.literal('by-seed').optional(),
  arms: z.record(z.string(), experimentSchema),
  baseline: z.string(),
});

/** Where a run was made: another home is another stretch of work, another processor gives other bits. */
export const originSchema = z.strictObject({
  home: z.string().regex(/^[0-9a-f]{8}$/, 'expected 8 hexadecimal digits'),
  /** From another home it may be anything, and reports name it. */
  machine: textSchema(200).regex(/^[^<>|`[\]]*$/, 'expected text without markup'),
});
export type Origin = z.infer<typeof originSchema>;

/** `origin.json` beside the comparisons: what their runs call this home folder. */
export const homeNameSchema = originSchema.pick({ home: true });
