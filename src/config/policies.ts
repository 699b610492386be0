/** Settings of one policy: how it samples, how it is trained. */
import { z } from 'zod';
import {
  nonNegativeCount,
  nonNegativeNumber,
  positiveCount,
  positiveNumber,
  timeLimit,
} from '../validation/limited-fields.ts';
import { apiKeyEnv, httpUrl } from '../validation/server-address.ts';
import { modelSchema } from './models.ts';
import { simulatorServerSchema } from './serving.ts';
import { slurmLauncherSchema } from './slurm.ts';

export const samplingSchema = z
  .strictObject({
    temperature: positiveNumber
      .default(1)
      .describe('Sampling temperature; the trainer divides logits by it too.'),
    maxTokens: positiveCount.describe('Maximum number of new tokens in a completion.'),
  })
  .describe('How the policy is sampled in training.');

const beta = z.number().min(0).lt(1);

const optimizer = {
  learningRate: positiveNumber.describe('Peak learning rate of AdamW.'),
  warmupSteps: nonNegativeCount
    .default(0)
    .describe('Optimizer steps over which the learning rate rises from 0, over all epochs.'),
  schedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('Course of the learning rate after its warm-up.'),
  scheduleSteps: positiveCount
    .nullable()
    .default(null)
    .describe('Optimizer steps that the schedule spans, over all epochs; null only with a constant one.'),
  betas: z.tuple([beta, beta]).default([0.9, 0.999]).describe('Decay of AdamW’s two moments.'),
  weightDecay: nonNegativeNumber.default(0).describe('Decoupled weight decay.'),
  maxGradNorm: positiveNumber.default(1).describe('Gradients above this norm are scaled down to it.'),
  klCoefficient: nonNegativeNumber.describe('Weight of the KL divergence to the initial policy.'),
  klEstimator: z
    .enum(['k3', 'exact'])
    .describe(
      'k3 estimate on the sampled tokens, or exact over the vocabulary. k3 is a KL divergence only on samples of ' +
        'the policy itself, which the simulator’s records are not.',
    ),
  maxKl: positiveNumber
    .nullable()
    .describe(
      'KL cap, nats a token: above it the loss is the KL term alone, above twice it the last step below is ' +
        'published; null = none.',
    ),
  maxStepKl: positiveNumber
    .optional()
    .describe(
      'Cap on each optimizer step: exact KL of the policy after it against the policy before it, nats a token. A ' +
        'longer step is halved until it fits. Left out = none.',
    ),
  klPullBack: nonNegativeNumber.default(0.5).describe('Coefficient of the KL term above the cap.'),
  tokensPerMicroBatch: z
    .int()
    .positive()
    .max(100_000_000)
    .default(16384)
    .describe('Tokens in a forward pass, with padding where there is any; gradients accumulate over a step.'),
};

/** Rounds that an epoch may sample. */
export const maxSamplingRounds = 64;

export const dynamicSamplingSchema = z
  .strictObject({
    informativeGroups: positiveCount.describe(
      'Groups with signal that an epoch is to have: tasks are written, drawn and rolled out, round by round, ' +
        'until there are so many. All of them are trained on.',
    ),
    maxRounds: z
      .int()
      .min(2)
      .max(maxSamplingRounds)
      .default(8)
      .describe('Rounds of an epoch at most, the first included; the agent trains on what there is then.'),
  })
  .describe(
    'Refill what is dropped, as DAPO does; all rollouts count. Left out = one round, whatever it holds.',
  );

export const agentTrainingSchema = z
  .strictObject({
    ...optimizer,
    stepsPerEpoch: positiveCount
      .optional()
      .describe('Optimizer steps over an epoch’s rollouts; groups stay whole. One of it and `batchSize`.'),
    batchSize: positiveCount
      .optional()
      .describe(
        'Groups (tasks with all of their rollouts) of an optimizer step: n of them make ⌈n / batchSize⌉ steps of equal ' +
          'size. Paper: 64.',
      ),
    scaleByStd: z.boolean().describe('Divide advantages by the standard deviation of their group.'),
    lossType: z.enum(['grpo', 'dr_grpo', 'dapo']).describe('How the loss is normalised.'),
    clipLow: z.number().gt(0).lt(1).describe('The importance ratio is clipped below at 1 - clipLow.'),
    clipHigh: positiveNumber.describe('The importance ratio is clipped above at 1 + clipHigh.'),
    klBiasCorrection: z
      .boolean()
      .default(false)
      .describe('Weight the KL term by the importance ratio, as TRL can.'),
    entropyCoefficient: nonNegativeNumber.default(0).describe('Weight of the entropy bonus.'),
    dropZeroVariance: z.boolean().describe('Drop groups without signal after they were counted for p̂.'),
    normalizeBy: z
      .enum(['all', 'kept'])
      .optional()
      .describe(
        'What the loss is divided by if groups are dropped: `all` = the whole batch, so that dropping saves ' +
          'computation alone; `kept` = the groups that are left, whose step then has full size however few ' +
          'they are. Left out = `all`, and `kept` with dynamicSampling, which refills the batch.',
      ),
    dynamicSampling: dynamicSamplingSchema.optional(),
    formatReward: z
      .number()
      .min(0)
      .max(0.2)
      .optional()
      .describe(
        'Added, in advantages alone, to the reward of an answer of the right form; p̂, R_env, filters and ' +
          'metrics of success never see it. Left out = 0.',
      ),
    minInformativeGroups: nonNegativeCount
      .default(2)
      .describe('Fewer groups with signal than this: no step.'),
  })
  .describe('GRPO.');

export const environmentTrainingSchema = z
  .strictObject({
    ...optimizer,
    stepsPerEpoch: positiveCount
      .nullable()
      .describe(
        'Optimizer steps an epoch, each on a fresh draw from D_env; null = one pass over D_env (its window), in ' +
          '⌈n / recordsPerStep⌉ steps of equal size.',
      ),
    recordsPerStep: positiveCount.describe('Records of D_env in a step: the batch size. Paper: 64.'),
    lambda: nonNegativeNumber.describe('Temperature λ of the regression weights exp(λ R_env). Paper: 1.'),
    weightClip: positiveNumber
      .default(20)
      .describe('Largest regression weight (their mean is 1 before discounts, guards and the cap on kinds).'),
  })
  .describe('Reward-weighted regression.');

export const agentSchema = z
  .strictObject({
    model: modelSchema,
    sampling: samplingSchema,
    rolloutsPerTask: z.int().min(2).max(1_024).default(8).describe('n: attempts at each task, one group.'),
    training: agentTrainingSchema.nullable().describe('null = frozen.'),
  })
  .describe('The agent: solves tasks.');

export const environmentSchema = z
  .strictObject({
    model: modelSchema,
    sampling: samplingSchema,
    promptsPerEpoch: z.int().positive().max(100_000).describe('Seed prompts an epoch.'),
    variationsPerPrompt: z
      .int()
      .positive()
      .max(1_000)
      .default(4)
      .describe('Tasks written for each seed prompt: one batch.'),
    seedOrder: z
      .enum(['draws', 'passes'])
      .optional()
      .describe(
        'Which base task a prompt varies: one drawn for each prompt, or `passes`: every base task once before any ' +
          'comes again (paper; promptsPerEpoch at the number of base tasks varies all of them each epoch). Left out = `draws`.',
      ),
    initialShare: z
      .number()
      .min(0)
      .max(1)
      .describe('Share of the seed prompts answered by the frozen initial simulator.'),
    sharesWeights: z
      .enum(['start', 'always'])
      .optional()
      .describe(
        'Whether one model plays both roles: `start` = both start as one model, which is warmed up on the corpora ' +
          'of both, and are trained apart; `always` = every update of either is an update of both. Left out = ' +
          'each role has weights of its own.',
      ),
    training: environmentTrainingSchema.nullable().describe('null = frozen.'),
    serving: simulatorServerSchema
      .optional()
      .describe(
        'A server of the simulator’s own, such as an API: it stays frozen, and `serving` has the agent. Left ' +
          'out = `serving` has both.',
      ),
  })
  .describe('The environment simulator: writes tasks.');

const rayLauncherSchema = z
  .strictObject({
    type: z.literal('ray'),
    baseUrl: httpUrl.describe('Ray’s dashboard; the list of the worker’s operator must have it.'),
    apiKeyEnv,
    cpus: z.number().min(0.01).max(1_024).default(1).describe('Processors that Ray keeps free for a job.'),
    gpus: z.number().min(0).max(64).default(0).describe('GPUs that Ray gives to a job.'),
  })
  .describe('A job of a Ray cluster whose nodes have the worker’s paths.');

export const trainerSchema = z
  .strictObject({
    launcher: z
      .discriminatedUnion('type', [
        z
          .strictObject({ type: z.literal('resident') })
          .describe('Forked from a parent that has imported torch already: milliseconds a job.'),
        z.strictObject({ type: z.literal('process') }).describe('A cold process a job, for GPU machines.'),
        rayLauncherSchema,
        z
          .strictObject({ type: z.literal('kubernetes') })
          .describe('A Job of the namespace, image and queue that the worker’s operator has chosen.'),
        z
          .strictObject({ type: z.literal('torchrun') })
          .describe('torchrun with `trainer.processes` processes on the worker’s host, one a GPU.'),
        slurmLauncherSchema,
      ])
      .default({ type: 'resident' })
      .describe('How the process of a job is started.'),
    device: z.enum(['auto', 'cpu', 'cuda']).default('auto').describe('`auto` = a GPU if there is one.'),
    threads: z
      .int()
      .positive()
      .max(1_024)
      .default(1)
      .describe(
        'CPU threads of a job; part of what makes reruns bit-identical. For tiny models one is fastest.',
      ),
    processes: z
      .int()
      .positive()
      .max(4_096)
      .optional()
      .describe(
        'Processes of a training job, one a device, which share its micro-batches. Their number changes no result: 1, ' +
          '2 and 8 write the same bytes. Only launchers that start several take more than 1. Left out = one process, ' +
          'and with dropout other bytes than with 1.',
      ),
    concurrentUpdates: z
      .boolean()
      .optional()
      .describe(
        'Whether the agent’s and the simulator’s training jobs run side by side: with two devices or more workers of ' +
          'the queue `gpu`. It changes no result. Left out = one after the other.',
      ),
    sharding: z
      .enum(['none', 'full'])
      .optional()
      .describe(
        '`full` = each process of a job has a part of the weights, gradients and moments (FSDP2), for full weights ' +
          'that one device does not hold. Left out = `none`: each has all of them.',
      ),
    precision: z
      .enum(['float32', 'bfloat16'])
      .default('float32')
      .describe('Of weights and activations in training.'),
    gradientCheckpointing: z
      .boolean()
      .default(false)
      .describe('Recompute activations in the backward pass: less memory, more time.'),
    checkpointEvery: positiveCount
      .default(1)
      .describe('Optimizer steps between step checkpoints inside a job.'),
    maxPolicyLag: nonNegativeCount
      .default(0)
      .describe('Oldest policy version, in epochs, whose rollouts the agent may train on.'),
    orphanGraceSeconds: timeLimit.default(600).describe('How long a job continues without a worker.'),
  })
  .describe('How training jobs run.');

export type AgentSettings = z.infer<typeof agentSchema>;
export type EnvironmentSettings = z.infer<typeof environmentSchema>;
export type AgentTraining = z.infer<typeof agentTrainingSchema>;
export type EnvironmentTraining = z.infer<typeof environmentTrainingSchema>;
export type TrainerSettings = z.infer<typeof trainerSchema>;
