import { z } from 'zod';
import {
  heartbeatTimeout,
  nameField,
  nonNegativeNumber,
  positiveCount,
  positiveNumber,
  requestTimeLimit,
  timeLimit,
} from '../validation/limited-fields.ts';
import { apiKeyEnv, httpUrl, searchUrl } from '../validation/server-address.ts';

/** What is evaluated, and how: what an experiment's own evaluations share with those of a file. */
export const evaluationOptions = {
  suites: z
    .array(nameField)
    .min(1)
    .max(1_000)
    .describe('Suites by name (`genenv suites` lists them), or a benchmark’s with `*`: `bfcl_v4_*`.'),
  temperature: nonNegativeNumber.default(0).describe('Sampling temperature; 0 = greedy.'),
  maxTokens: positiveCount.default(1024).describe('Maximum number of new tokens in a completion.'),
  seed: z.int().min(0).default(0).describe('Every other seed derives from it.'),
  toolFormat: z
    .enum(['prompt', 'native'])
    .default('prompt')
    .describe('Whether tools are described in the prompt or passed to the server as tools.'),
  search: z
    .strictObject({
      url: searchUrl.describe('Address; `{query}` in it stands for the query, else it is posted as JSON.'),
      apiKeyEnv,
    })
    .nullable()
    .default(null)
    .describe('Search endpoint of suites that search.'),
  judge: z
    .strictObject({
      baseUrl: httpUrl.describe('OpenAI-compatible server.'),
      model: nameField.describe('Model that judges.'),
      apiKeyEnv,
    })
    .nullable()
    .default(null)
    .describe('Model that judges free answers, in suites that have such a rule besides their own.'),
  limit: positiveCount
    .nullable()
    .default(null)
    .describe(
      'Only so many cases of each suite, its first ones, for a quick look; null = all. Names of scores ' +
        'then end in `_first<limit>`.',
    ),
  questionsPerRequest: z
    .int()
    .min(1)
    .max(1024)
    .default(32)
    .describe('Cases that are attempted side by side: the unit of batching, storage and retry.'),
  casesPerShard: z.int().min(1).max(10_000).default(128).describe('Cases of an activity.'),
  concurrency: z.int().min(1).max(64).default(4).describe('Activities under way at a time.'),
  requestTimeoutSeconds: requestTimeLimit
    .default(120)
    .describe(
      'Longest that one request may take; for the agent of a run, at least what the run’s requests may.',
    ),
  heartbeatSeconds: heartbeatTimeout
    .default(150)
    .describe(
      'Heartbeat timeout of the activities, which heartbeat while a request is under way: how soon a worker ' +
        'that died is noticed.',
    ),
  maxAttempts: positiveCount
    .default(100)
    .describe('Attempts at an activity before the evaluation fails. An outage of a model server costs none.'),
  maxOutageSeconds: timeLimit
    .optional()
    .describe(
      'How long a model server may be away before the evaluation fails. Left out = it is waited for without end.',
    ),
};

/** What an experiment file says of its own evaluations: all but the policy, which is its agent. */
export const benchmarksSchema = z
  .strictObject({
    every: positiveCount.default(10).describe('After every so many epochs, and after the last.'),
    ...evaluationOptions,
  })
  .describe('Evaluation of the agent on benchmarks.');

export type Benchmarks = z.infer<typeof benchmarksSchema>;

/** Settings of the co-evolution itself: reward of the simulator, filter, pools, guards. */

const unit = z.number().min(0).max(1);

export const difficultySchema = z
  .strictObject({
    alpha: unit.describe(
      'Target success rate α of the simulator: its reward is highest if the agent solves this share ' +
        'of its attempts. Paper: 0.5.',
    ),
    alphaSchedule: z
      .array(
        z.strictObject({
          fromEpoch: positiveCount.describe('First epoch of the step.'),
          alpha: unit.describe('Target success rate from that epoch on.'),
        }),
      )
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Steps of α by epoch, in their order; `alpha` holds before the first. A retune of `alpha` ends the schedule. ' +
          'Left out = α stays (paper).',
      ),
    beta: positiveNumber.describe('Sharpness β of R_env = exp(-β (p̂ - α)²). Reference release: 2; tuned: 8.'),
    per: z
      .enum(['task', 'batch'])
      .describe('What p̂ is taken over: each task, or the batch of variations of one seed prompt (paper).'),
  })
  .describe('Reward of the environment simulator.');

const appliesTo = z
  .array(z.enum(['agent', 'environment']))
  .min(1)
  .max(1_000)
  .default(['environment'])
  .describe(
    'Whose update the filter holds back. Paper: the environment only; its agent trains on everything.',
  );

export const filterSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('off') }).describe('Keep everything.'),
    z.strictObject({
      type: z.literal('threshold'),
      kMin: unit.describe('Keep while |p̂ - α| <= kMin. Paper: 0.1.'),
      appliesTo,
    }),
    z.strictObject({
      type: z.literal('quantile'),
      keep: z.number().gt(0).max(1).describe('Share of the tasks to keep, those nearest to α.'),
      appliesTo,
    }),
    z.strictObject({
      type: z.literal('topK'),
      k: positiveCount.describe('Number of tasks to keep, those nearest to α.'),
      appliesTo,
    }),
  ])
  .describe('Difficulty filter. What it drops is recorded with its reason.');

export const poolsSchema = z
  .strictObject({
    train: z
      .strictObject({
        mix: z
          .strictObject({
            base: nonNegativeNumber.describe('Weight of the base tasks.'),
            history: nonNegativeNumber.describe('Weight of valid tasks of earlier epochs.'),
            new: positiveNumber.describe("Weight of this epoch's new tasks; all of them are rolled out."),
          })
          .describe(
            'Shares of an epoch’s rollout tasks. Drawn tasks are rolled out afresh; base or history 0 draws none.',
          ),
        capacity: z.int().positive().max(10_000_000).describe('Tasks of history kept (newest first).'),
      })
      .describe('D_train: what the agent trains on.'),
    environment: z
      .strictObject({
        window: positiveCount
          .nullable()
          .describe('Epochs that a record stays in D_env; null = for ever (paper).'),
        deduplicate: z.boolean().describe('Divide the weight of a task by how often it occurs.'),
        memory: z
          .strictObject({
            minReward: unit.describe('R_env that a record needs to be remembered.'),
            perTenth: positiveCount.describe(
              'Records remembered for each tenth of recent success in the simulator’s prompt, newest first.',
            ),
            recordsPerStep: positiveCount.describe(
              'Remembered records in an optimizer step, spread evenly over the tenths.',
            ),
            deduplicate: z
              .boolean()
              .optional()
              .describe(
                'Remember of equal tasks the newest alone, and divide its weight by how often it occurs in D_env. ' +
                  'Left out = false.',
              ),
          })
          .nullable()
          .describe(
            'Older records kept so that the simulator learns what each history asks for; null = none (paper).',
          ),
      })
      .describe('D_env: context -> task, weighted.'),
  })
  .describe('The two pools.');

export const guardsSchema = z
  .strictObject({
    discrimination: z
      .boolean()
      .describe('Reward a task only if the agent beats a random policy on it (catches coin-flip tasks).'),
    familyCap: unit
      .nullable()
      .describe('Largest share of the regression weight that one kind of task may hold; null = no cap.'),
    randomAttempts: z.int().min(1).max(64).default(8).describe('Attempts of the random policy at each task.'),
    randomSuccess: unit
      .nullable()
      .optional()
      .describe(
        'Largest share of the random policy’s attempts that may solve a task: above it the task gets no ' +
          'weight. Left out or null = not looked at.',
      ),
    verdictAgreement: z
      .boolean()
      .optional()
      .describe('Train neither policy on a task where two verdicts on one answer differ. Left out = false.'),
    clusterDistance: unit
      .nullable()
      .optional()
      .describe(
        'Normalised edit distance up to which an epoch’s tasks are near copies, which weigh as one task ' +
          'together. Left out or null = only exact copies are.',
      ),
    flatRewards: unit
      .nullable()
      .optional()
      .describe(
        'Smallest span of R_env over an epoch’s records with which the simulator is updated. Left out or ' +
          'null = always.',
      ),
    starvedAfter: positiveCount
      .nullable()
      .optional()
      .describe(
        'Epochs without anything for the simulator to learn from after which it is helped, until there ' +
          'is: its filter keeps the quarter nearest to α, and at least half of the prompts go to the ' +
          'initial simulator. Left out or null = never.',
      ),
    gateAgent: z
      .strictObject({
        every: positiveCount.default(5).describe('Epochs between two looks; after the last epoch too.'),
        tasks: positiveCount
          .default(128)
          .describe(
            'Maximum number of tasks in the anchor set; one rollout each, outside the rollout budget.',
          ),
        drop: unit
          .default(0.02)
          .describe('Success that may be lost against the best so far, beyond the 95 % interval.'),
      })
      .nullable()
      .optional()
      .describe(
        'Roll the agent back if it has forgotten an anchor set that the simulator never sees. Left out ' +
          'or null = never.',
      ),
    coldStart: z
      .strictObject({
        tasks: positiveCount
          .default(32)
          .describe('Maximum number of base tasks that the simulator varies and the agent attempts.'),
        minValid: unit
          .default(0.8)
          .describe('Share of the simulator’s tasks that must be valid; else the run fails.'),
      })
      .optional()
      .describe(
        'Check the initial policies before the first epoch, outside the rollout budget. Left out = no check.',
      ),
    frozenSamples: z
      .int()
      .min(0)
      .max(64)
      .default(1)
      .describe(
        'Attempts of the frozen initial agent at each new task, every epoch, outside the rollout budget; 0 = none.',
      ),
  })
  .describe('Guards against curricula that look right and teach nothing.');

export const historySchema = z
  .strictObject({
    window: positiveCount
      .default(2)
      .describe('Epochs that the agent history given to the simulator looks back on.'),
    shown: z
      .boolean()
      .optional()
      .describe(
        'Whether the simulator’s prompts have that history; false = they are those of a run’s first epoch, which ' +
          'knows nothing of the agent. Left out = true.',
      ),
  })
  .describe('What the simulator’s prompt says about the agent.');

export const evaluationSettingsSchema = z
  .strictObject({
    every: positiveCount.default(5).describe('Evaluate after every so many epochs, and after the last.'),
    samples: z.int().positive().max(1_024).default(1).describe('Attempts at each held-out task.'),
    temperature: nonNegativeNumber.default(1).describe('Sampling temperature of the evaluation; 0 = greedy.'),
    passAtK: z
      .int()
      .min(2)
      .max(1_024)
      .optional()
      .describe(
        'Report success in one attempt and in at least one of so many (pass@1, pass@k), estimated from ' +
          '`samples` attempts at each held-out task. Left out = not reported.',
      ),
    heldOutSeed: z
      .int()
      .min(0)
      .max(999_999_999)
      .optional()
      .describe('Seed that held-out and anchor tasks are drawn by. Left out = 0, alike for every run.'),
    exact: z
      .boolean()
      .optional()
      .describe(
        'Report the exact probability of the right answer to each held-out task besides the sampled success: no ' +
          'sampling noise. Only with the embedded server, at temperature 1, and in worlds where one text alone ' +
          'is right. Left out = not reported.',
      ),
    logprob: z
      .boolean()
      .optional()
      .describe(
        'Report the mean log-probability of the reference answers to held-out tasks: of a few updates it shows ' +
          'what success is too coarse for. Only with the embedded server, and in worlds of one turn. Left out = ' +
          'not reported.',
      ),
    excludeHeldOut: z
      .boolean()
      .optional()
      .describe(
        'Tasks equal to a held-out one are invalid: never rolled out, never trained on, in no data set. Left ' +
          'out = they are only counted.',
      ),
    benchmarks: benchmarksSchema.optional(),
  })
  .describe('Held-out evaluation, outside the rollout budget.');

export const durabilitySchema = z
  .strictObject({
    shards: z
      .int()
      .min(1)
      .max(128)
      .default(8)
      .describe('Activities that a phase of requests is cut into; history does not grow with rollouts.'),
    promptsPerRequest: z
      .int()
      .min(1)
      .max(1024)
      .default(32)
      .describe('Prompts in one request: the unit of batching, storage and retry.'),
    requestTimeoutSeconds: requestTimeLimit.default(50).describe('Longest that one request may take.'),
    heartbeatSeconds: heartbeatTimeout
      .default(60)
      .describe(
        'Heartbeat timeout of activities that talk to models or trainers: how soon a worker that died is noticed.',
      ),
    epochsPerRun: positiveCount.default(20).describe('Epochs before the workflow continues as new.'),
    maxPhaseAttempts: positiveCount
      .default(100)
      .describe('Attempts at a phase before the epoch fails. An outage of a model server costs none.'),
    maxOutageSeconds: timeLimit
      .optional()
      .describe(
        'How long a model server may be away before the epoch fails. Left out = it is waited for without end.',
      ),
  })
  .describe('Units of loss and retry.');

export type Difficulty = z.infer<typeof difficultySchema>;
export type FilterSettings = z.infer<typeof filterSchema>;
export type Pools = z.infer<typeof poolsSchema>;
export type Guards = z.infer<typeof guardsSchema>;
export type Durability = z.infer<typeof durabilitySchema>;
