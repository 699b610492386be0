/** Inputs of the activities of evaluations. Field names are on the wire. */
import { z } from 'zod';
import { FileRef } from '../store/references.ts';
import { listOf } from './activity-inputs.ts';
import { runIdSchema } from './ids.ts';
import { countSchema, textSchema, tokensSchema } from './run-state.ts';

const hash = textSchema(200);
/** Cases of a suite, far more than any has. */
const casesSchema = z.int().min(0).max(1_000_000);

/**
 * A suite of an evaluation: how many cases, by which data, questions (`asking`) and rules (`versions`); or
 * why it is skipped.
 */
const readySuiteSchema = z.strictObject({
  name: textSchema(200),
  skipped: z.null(),
  cases: casesSchema,
  dataHash: hash,
  asking: hash,
  versions: z.record(textSchema(200), z.string().max(1000)).readonly(),
});
export type ReadySuite = z.infer<typeof readySuiteSchema>;

const plannedSuiteSchema = z.union([
  z.strictObject({ name: textSchema(200), skipped: z.string().max(10_000) }),
  readySuiteSchema,
]);
export type PlannedSuite = z.infer<typeof plannedSuiteSchema>;

const caseRange = { shard: casesSchema, from: casesSchema, to: casesSchema };
export const caseShardSchema = z.strictObject({ suite: textSchema(200), ...caseRange });
export type CaseShard = z.infer<typeof caseShardSchema>;

export const planRescoringInput = z.strictObject({ id: runIdSchema });

export const answerInput = z.strictObject({
  id: runIdSchema,
  evaluation: FileRef,
  identity: hash,
  suite: readySuiteSchema,
  ...caseRange,
});
export const judgeInput = answerInput.extend({ answers: FileRef, judged: countSchema });

/**
 * `tokens` sampled, `questions` asked; counts of answers that were cut off, and of questions that the policy
 * could not read. `prompts` is the sha256 of everything that was asked, null if nobody was.
 */
const answeredSchema = z.strictObject({
  answers: FileRef,
  prompts: hash.nullable(),
  questions: countSchema,
  tokens: tokensSchema,
  cutOff: countSchema,
  tooLong: countSchema,
});
export type Answered = z.infer<typeof answeredSchema>;

const shardRecordSchema = caseShardSchema.extend({ answered: answeredSchema, verdicts: FileRef });
export type ShardRecord = z.infer<typeof shardRecordSchema>;

export const scoreInput = z.strictObject({
  id: runIdSchema,
  evaluation: FileRef,
  identity: hash,
  suites: listOf(plannedSuiteSchema),
  shards: listOf(shardRecordSchema),
  judged: countSchema,
});

export type AnswerInput = z.infer<typeof answerInput>;
export type JudgeInput = z.infer<typeof judgeInput>;
export type ScoreInput = z.infer<typeof scoreInput>;
