/**
 * What an epoch starts from: references and small numbers. Field names are on the wire: histories, keys and
 * ledgers hold them. What arrives from Temporal is checked by these schemas; the types follow from them.
 */
import { z } from 'zod';
import { maxRollouts } from '../config/budget-checks.ts';
import { experimentSchema } from '../config/experiment.ts';
import { durabilitySchema } from '../config/durability.ts';
import { guardsSchema } from '../config/guards.ts';
import { benchmarksSchema, evaluationSettingsSchema } from '../config/evaluation-settings.ts';
import { dynamicSamplingSchema } from '../config/policies.ts';
import { FileRef, FolderRef } from '../store/references.ts';
import { runIdSchema } from './ids.ts';

/** Rollouts, tasks, requests: no phase has more than the rollouts of the largest epoch. */
export const countSchema = z.int().min(0).max(maxRollouts);
/** A whole number that a file may have in a field, or 0 for none. */
export const upTo = (field: z.ZodDefault<z.ZodInt>) => z.int().min(0).max(field.unwrap().maxValue!);
/** Tokens add up over a run of any length. */
export const tokensSchema = z.int().min(0);
export const epochSchema = z.int().min(0).max(1e6);

/** A text of ours: a name, a note, a reason. Control characters and megabytes are not. */
export const textSchema = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    // eslint-disable-next-line no-control-regex -- what it refuses
    .regex(/^[^\u0000-\u001f\u007f]*$/, 'expected text without control characters');

/** Names as in TRL, plus env/*, pool/*, rollouts/*, eval/*. Deterministic, so no durations. */
export const metricsSchema = z.record(textSchema(200), z.number().nullable());
export type Metrics = z.infer<typeof metricsSchema>;

export const policyRoleSchema = z.enum(['agent', 'environment']);
export type PolicyRole = z.infer<typeof policyRoleSchema>;

/** A policy with a version. Requests to a model server carry `name`, which is never reused. */
export const policyVersionSchema = z
  .strictObject({
    /** `agent@0007-<hash>` of its checkpoint; else as the server calls it. */
    name: textSchema(200).min(1),
    /** Null if only a server has the weights (a frozen policy behind an API). */
    checkpoint: FolderRef.nullable(),
    trainer_state: FolderRef.nullable(),
  })
  .refine(
    ({ name, checkpoint }) =>
      checkpoint === null || versionName.exec(name)?.[1] === checkpoint.sha256.slice(0, HASH_LENGTH),
    {
      path: ['name'],
      error: 'expected agent@0000-<hash> or environment@0000-<hash>, of its checkpoint’s hash',
    },
  );
export type PolicyVersion = z.infer<typeof policyVersionSchema>;

const HASH_LENGTH = 12;
const versionName = /^(?:agent|environment)@\d{4,9}-([0-9a-f]{12})$/;

/** The name of trained weights, which says which they are. @param sha256 of the checkpoint */
export const policyName = (role: PolicyRole, epoch: number, sha256: string): string =>
  `${role}@${String(epoch).padStart(4, '0')}-${sha256.slice(0, HASH_LENGTH)}`;

/** The anchor set, the best success on it so far, and the last agent that passed. */
export const forgettingBaselineSchema = z.strictObject({
  tasks: FileRef,
  best: z.strictObject({ successes: countSchema, attempts: countSchema }),
  agent: policyVersionSchema,
});
export type ForgettingBaseline = z.infer<typeof forgettingBaselineSchema>;

/** All that the next epoch depends on, besides the experiment itself. The ledger's last line holds it. */
export const runStateSchema = z.strictObject({
  base_tasks: FileRef,
  held_out: FileRef,
  agent: policyVersionSchema,
  environment: policyVersionSchema,
  initial_agent: policyVersionSchema,
  initial_environment: policyVersionSchema,
  history: FileRef,
  train_pool: FileRef,
  environment_pool: FileRef,
  /** The fixed data set that all epochs draw from; absent in arms without one. */
  task_pool: FileRef.exactOptional(),
  /** What the agent must not forget; absent without that guard. */
  anchor: forgettingBaselineSchema.exactOptional(),
  tokens: tokensSchema,
});
export type RunState = z.infer<typeof runStateSchema>;

/** An experiment as its activities see it. */
export const runSchema = z.strictObject({
  id: runIdSchema,
  /** The settings in effect: the run's experiment file with the retunes since. */
  experiment: FileRef,
});
export type Run = z.infer<typeof runSchema>;

/** What limits a phase's activities. */
export const phaseLimitsSchema = z.strictObject({
  heartbeatSeconds: durabilitySchema.shape.heartbeatSeconds.unwrap(),
  maxPhaseAttempts: durabilitySchema.shape.maxPhaseAttempts.unwrap(),
  /** How long a model server may be away; absent = without end. */
  maxOutageSeconds: durabilitySchema.shape.maxOutageSeconds.unwrap().exactOptional(),
});
export type PhaseLimits = z.infer<typeof phaseLimitsSchema>;

export const shardsSchema = upTo(durabilitySchema.shape.shards);

const shareSchema = z.number().min(0).max(1);

/** What the workflow needs from the experiment file: counts and time limits, nothing of the method. */
export const workflowSettingsSchema = z.strictObject({
  ...phaseLimitsSchema.shape,
  name: textSchema(200),
  arm: textSchema(200),
  epochs: epochSchema,
  evaluateEvery: upTo(evaluationSettingsSchema.shape.every),
  epochsPerRun: upTo(durabilitySchema.shape.epochsPerRun),
  shards: z.strictObject({ generate: shardsSchema, rollOut: shardsSchema, evaluate: shardsSchema }),
  trains: z.strictObject({ agent: z.boolean(), environment: z.boolean() }),
  /** Whether one model plays both roles, so that each update is of both; absent = not. */
  sharesWeights: z.literal(true).exactOptional(),
  /** Whether both updates run at a time; absent = one after the other. */
  concurrentUpdates: z.literal(true).exactOptional(),
  /** Whether epoch 0 writes the data set that all epochs draw from. */
  writesPool: z.literal(true).exactOptional(),
  /** Whether epoch 0 checks the initial policies; absent = not. */
  checksColdStart: z.literal(true).exactOptional(),
  /** Epochs between two checks whether the agent has forgotten; absent = never. */
  gateEvery: upTo(guardsSchema.shape.gateAgent.unwrap().unwrap().shape.every).exactOptional(),
  /** When an epoch samples more rounds; absent = never. */
  dynamicSampling: dynamicSamplingSchema.exactOptional(),
  /** Evaluation of the agent on benchmarks; absent = none. */
  benchmarks: benchmarksSchema.exactOptional(),
  maxTokens: experimentSchema.shape.maxTokens.unwrap(),
  band: z.tuple([shareSchema, shareSchema]),
  /** In a round, those of the frozen agent among them. */
  rolloutsPerEpoch: z.int().min(0).max(1e9),
});
export type WorkflowSettings = z.infer<typeof workflowSettingsSchema>;

/** A run whose file has been checked. */
export interface RunPlan {
  run: z.infer<typeof runSchema>;
  settings: WorkflowSettings;
  /** Whether the worker could register the search attributes. */
  searchAttributes: boolean;
}
