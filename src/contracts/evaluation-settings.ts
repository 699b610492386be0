import { z } from 'zod';

export const apiKeyEnv = z
  .string()
  .min(1)
  .nullable()
  .default(null)
  .describe('Name of the environment variable with the key; never the key.');
export const httpUrl = z.url({ protocol: /^https?$/ });

/** What is evaluated, and how: what an experiment's own evaluations share with those of a file. */
export const howEvaluated = {
  suites: z
    .array(z.string().min(1))
    .min(1)
    .describe('Suites by name (`genenv suites` lists them), or a benchmark’s with `*`: `bfcl_v4_*`.'),
  temperature: z.number().min(0).default(0).describe('Sampling temperature; 0 = greedy.'),
  maxTokens: z.int().positive().default(1024).describe('Most new tokens in an answer.'),
  seed: z.int().min(0).default(0).describe('Every other seed derives from it.'),
  toolFormat: z
    .enum(['prompt', 'native'])
    .default('prompt')
    .describe('Tools described in the prompt, or given to the server as tools.'),
  search: z
    .strictObject({
      url: httpUrl.describe('Address; `{query}` in it stands for the query, else it is posted as JSON.'),
      apiKeyEnv,
    })
    .nullable()
    .default(null)
    .describe('Search endpoint of suites that search.'),
  judge: z
    .strictObject({
      baseUrl: httpUrl.describe('OpenAI-compatible server.'),
      model: z.string().min(1).describe('Model that judges.'),
      apiKeyEnv,
    })
    .nullable()
    .default(null)
    .describe('Model that judges free answers, in suites that have such a rule beside their own.'),
  limit: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe(
      'Only so many cases of each suite, its first ones, for a quick look; null = all. Names of scores then end in `_first<limit>`.',
    ),
  questionsPerRequest: z
    .int()
    .min(1)
    .max(1024)
    .default(32)
    .describe('Cases that are attempted side by side: the unit of batching, storage and retry.'),
  casesPerShard: z.int().min(1).max(10_000).default(128).describe('Cases of an activity.'),
  concurrency: z.int().min(1).max(64).default(4).describe('Activities under way at a time.'),
  requestTimeoutSeconds: z.number().positive().default(120).describe('Longest that one request may take.'),
  heartbeatSeconds: z
    .number()
    .min(1)
    .default(150)
    .describe(
      'Heartbeat timeout of the activities, which beat after each request: how soon a worker that died is noticed. Above requestTimeoutSeconds.',
    ),
  maxAttempts: z
    .int()
    .positive()
    .default(100)
    .describe('Attempts at an activity before the evaluation fails.'),
};

/** What an experiment file says of its own evaluations: all but the policy, which is its agent. */
export const benchmarksSchema = z
  .strictObject({
    every: z.int().positive().default(10).describe('After every so many epochs, and after the last.'),
    ...howEvaluated,
  })
  .describe('Evaluation of the agent on benchmarks.');

export type Benchmarks = z.infer<typeof benchmarksSchema>;
