/**
 * Inputs of the activities of a run: references and small numbers, never rollouts. Field names are on the wire:
 * histories and keys hold them.
 */
import { z } from 'zod';
import { maxSamplingRounds } from '../config/policies.ts';
import { FileRef } from '../store/references.ts';
import { runIdSchema } from './ids.ts';
import {
  countSchema,
  epochSchema,
  metricsSchema,
  policyRoleSchema,
  policyVersionSchema,
  runSchema,
  runStateSchema,
  shardsSchema,
  textSchema,
  tokensSchema,
} from './run-state.ts';

/** More shards or arms than Temporal takes in a workflow. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).max(100_000);

/** Settings by dotted path, such as `{'difficulty.alpha': 0.4}`. */
export const fieldValuesSchema = z
  .record(textSchema(200), z.unknown())
  .refine((fields) => Object.keys(fields).length <= 100, { error: 'expected at most 100 fields' });

export const runOutcomeSchema = z.enum(['finished', 'stopped', 'token cap reached', 'cancelled', 'failed']);
export type RunOutcome = z.infer<typeof runOutcomeSchema>;

export const parseInput = z.strictObject({
  /** Of the workflow, which people choose: the activity says what is wrong with it. */
  id: z.string().max(1000),
  /** The workflow's argument, not yet validated. */
  file: z.unknown(),
});
export const openInput = z.strictObject({
  id: runIdSchema,
  /** The last committed epoch, as far as the caller knows; null if it knows of none. */
  // eslint-disable-next-line id-denylist -- a field on the wire
  known: epochSchema.nullable(),
  /**
   * Whether to compare every byte that the next epoch depends on: when a run resumes, and after a failure.
   */
  thorough: z.boolean(),
});
export const retuneInput = z.strictObject({
  id: runIdSchema,
  set: fieldValuesSchema,
  fromEpoch: epochSchema,
});
export const endInput = z.strictObject({
  id: runIdSchema,
  outcome: runOutcomeSchema,
  epoch: epochSchema,
  reason: z.string().max(1_000_000).exactOptional(),
});
export const warmUpInput = z.strictObject({ run: runSchema, role: policyRoleSchema });
export const prepareInput = z.strictObject({
  run: runSchema,
  agent: policyVersionSchema,
  environment: policyVersionSchema,
});
export const publishInput = z.strictObject({ run: runSchema, policy: policyVersionSchema });

/** Common to every activity of an epoch. */
export const phaseInput = z.strictObject({ run: runSchema, epoch: epochSchema, state: runStateSchema });
export const shardInput = phaseInput.extend({ shard: shardsSchema, shards: shardsSchema });

/** A round of an epoch's sampling after the first: its number, and the tasks of the rounds before it. */
export const samplingRoundSchema = z.strictObject({
  number: z.int().min(2).max(maxSamplingRounds),
  drawn: FileRef,
});
const inRound = { round: samplingRoundSchema.exactOptional() };
export const generateTasksInput = shardInput.extend(inRound);
export const drawTasksInput = phaseInput.extend({ generated: listOf(FileRef), ...inRound });
export const rollOutInput = shardInput.extend({ tasks: FileRef, ...inRound });
export const computeRewardsInput = phaseInput.extend({ tasks: FileRef, traces: listOf(FileRef) });
export const filterInput = phaseInput.extend({ scores: FileRef });
export const updatePoolsInput = phaseInput.extend({ tasks: FileRef, scores: FileRef, decisions: FileRef });
export const trainAgentInput = phaseInput.extend({
  traces: listOf(FileRef),
  rewards: FileRef,
  scores: FileRef,
  decisions: FileRef,
});
export const trainEnvironmentInput = phaseInput.extend({
  environmentPool: FileRef,
  decisions: FileRef,
  /** What is trained if it is not the simulator of the state: the agent's new weights, if both share them. */
  policy: policyVersionSchema.exactOptional(),
});
export const gateInput = phaseInput.extend({ agent: policyVersionSchema });
export const evaluateInput = shardInput.extend({ agent: policyVersionSchema });

const tokenCounts = { completionTokens: tokensSchema, promptTokens: tokensSchema };

export const commitInput = z.strictObject({
  run: runSchema,
  epoch: epochSchema,
  outputs: z.strictObject({
    tasks: FileRef.nullable(),
    traces: listOf(FileRef),
    rewards: FileRef.nullable(),
    scores: FileRef.nullable(),
    decisions: FileRef.nullable(),
    verdicts: listOf(FileRef),
  }),
  /** The state that the next epoch starts from. */
  next: runStateSchema,
  metrics: listOf(metricsSchema),
  notes: listOf(z.string().max(100_000)),
  /** Model requests that failed and were sent again. Stored next to the ledger, as the seconds are. */
  retried: countSchema,
  /**
   * What the model servers sampled and read for generation, rollouts, held-out evaluation and the data set.
   * `servers`: the part of those that a file names besides `serving`. Stored next to the ledger; absent if a phase
   * was recorded by a version that did not count prompts.
   */
  usage: z
    .strictObject({
      ...tokenCounts,
      servers: z
        .strictObject({
          simulator: z.strictObject(tokenCounts).exactOptional(),
          solver: z.strictObject(tokenCounts).exactOptional(),
          wording: z.strictObject(tokenCounts).exactOptional(),
        })
        .exactOptional(),
    })
    .exactOptional(),
  /** Seconds by phase; stored next to the ledger, not in it. */
  seconds: z.record(textSchema(200), z.number()),
});

export type ParseInput = z.infer<typeof parseInput>;
export type OpenInput = z.infer<typeof openInput>;
export type RetuneInput = z.infer<typeof retuneInput>;
export type EndInput = z.infer<typeof endInput>;
export type WarmUpInput = z.infer<typeof warmUpInput>;
export type PrepareInput = z.infer<typeof prepareInput>;
export type PublishInput = z.infer<typeof publishInput>;
export type PhaseInput = z.infer<typeof phaseInput>;
export type ShardInput = z.infer<typeof shardInput>;
export type SamplingRound = z.infer<typeof samplingRoundSchema>;
export type GenerateTasksInput = z.infer<typeof generateTasksInput>;
export type DrawTasksInput = z.infer<typeof drawTasksInput>;
export type RollOutInput = z.infer<typeof rollOutInput>;
export type ComputeRewardsInput = z.infer<typeof computeRewardsInput>;
export type FilterInput = z.infer<typeof filterInput>;
export type UpdatePoolsInput = z.infer<typeof updatePoolsInput>;
export type TrainAgentInput = z.infer<typeof trainAgentInput>;
export type TrainEnvironmentInput = z.infer<typeof trainEnvironmentInput>;
export type GateInput = z.infer<typeof gateInput>;
export type EvaluateInput = z.infer<typeof evaluateInput>;
export type CommitInput = z.infer<typeof commitInput>;
