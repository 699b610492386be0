/** How a run evaluates its agent, on held-out tasks and on benchmarks. */
import { z } from 'zod';
import {
  heartbeatTimeout,
  nameField,
  nonNegativeNumber,
  positiveCount,
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
      'How long a model server or the store may be away before the evaluation fails. Left out = it is waited for ' +
        'without end.',
    ),
};

/** What an experiment file says of its own evaluations: all but the policy, which is its agent. */
export const benchmarksSchema = z
  .strictObject({
    every: positiveCount.default(10).describe('After every so many epochs, and after the last.'),
    initial: z
      .boolean()
      .optional()
      .describe('Whether the agent that the run begins with is evaluated too. Left out = no.'),
    ...evaluationOptions,
  })
  .describe('Evaluation of the agent on benchmarks.');

export type Benchmarks = z.infer<typeof benchmarksSchema>;

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
