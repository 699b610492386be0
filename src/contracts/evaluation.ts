import { z } from 'zod';
import { describeIssue, show } from './describe-issue.ts';
import { withoutLimitsOfIntegers } from './experiment-json-schema.ts';
import { InvalidConfig } from './invalid-config.ts';
import { isObject } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

export const evaluationIdPattern = /^[A-Za-z0-9-][A-Za-z0-9._-]{0,63}$/;
export const evaluationIdRule = 'expected 1 to 64 letters, digits, dots, dashes or underscores, no dot or underscore first';

const apiKeyEnv = z.string().min(1).nullable().default(null).describe('Name of the environment variable with the key; never the key.');
const httpUrl = z.url({ protocol: /^https?$/ });

const policySchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('served'),
        baseUrl: httpUrl.describe('OpenAI-compatible server.'),
        model: z.string().min(1).describe('Name that the server knows the model by.'),
        apiKeyEnv,
        api: z.enum(['chat', 'completions']).default('chat').describe('Endpoint: `chat` with the model’s own template, or `completions` in ChatML, many questions a request.'),
      })
      .describe('A model behind a server.'),
    z
      .strictObject({
        type: z.literal('run'),
        run: z.string().regex(/^[A-Za-z0-9-][A-Za-z0-9._-]{0,79}$/, 'expected the id of a run').describe('Id of a run.'),
        epoch: z.int().min(0).nullable().default(null).describe('Its committed epoch; null = the last.'),
        api: z.enum(['chat', 'completions']).default('chat').describe('As for a served one.'),
      })
      .describe('The agent of a run, asked on the server that the run used.'),
    z.strictObject({ type: z.literal('gold') }).describe('The answer key itself, to see that suites are whole; cases without a key are left out.'),
  ])
  .describe('The policy that is evaluated.');

/** What is evaluated, and how: what an experiment's own evaluations share with those of a file. */
const how = {
  suites: z.array(z.string().min(1)).min(1).describe('Suites by name (`genenv suites` lists them), or a benchmark’s with `*`: `bfcl_v4_*`.'),
  temperature: z.number().min(0).default(0).describe('Sampling temperature; 0 = greedy.'),
  maxTokens: z.int().positive().default(1024).describe('Most new tokens in an answer.'),
  seed: z.int().min(0).default(0).describe('Every other seed derives from it.'),
  toolFormat: z.enum(['prompt', 'native']).default('prompt').describe('Tools described in the prompt, or given to the server as tools.'),
  search: z.strictObject({ url: httpUrl.describe('Address; `{query}` in it stands for the query, else it is posted as JSON.'), apiKeyEnv }).nullable().default(null).describe('Search endpoint of suites that search.'),
  judge: z
    .strictObject({ baseUrl: httpUrl.describe('OpenAI-compatible server.'), model: z.string().min(1).describe('Model that judges.'), apiKeyEnv })
    .nullable()
    .default(null)
    .describe('Model that judges free answers, in suites that have such a rule beside their own.'),
  limit: z.int().positive().nullable().default(null).describe('Only so many cases of each suite, its first ones, for a quick look; null = all. Names of scores then end in `_first<limit>`.'),
  questionsPerRequest: z.int().min(1).max(1024).default(32).describe('Cases that are attempted side by side: the unit of batching, storage and retry.'),
  casesPerShard: z.int().min(1).max(10_000).default(128).describe('Cases of an activity.'),
  concurrency: z.int().min(1).max(64).default(4).describe('Activities under way at a time.'),
  requestTimeoutSeconds: z.number().positive().default(120).describe('Longest that one request may take.'),
  heartbeatSeconds: z.number().min(1).default(120).describe('Heartbeat timeout of the activities; they beat after each request.'),
  maxAttempts: z.int().min(0).default(0).describe('Attempts at an activity before the evaluation fails; 0 = no limit.'),
};

export const evaluationSchema = z
  .strictObject({
    $schema: z.string().optional().describe('For editors.'),
    name: z.string().regex(evaluationIdPattern, evaluationIdRule).describe('Name of the evaluation; its id unless another is given.'),
    policy: policySchema,
    ...how,
  })
  .describe('An evaluation of a policy on benchmarks.');

export type Evaluation = z.infer<typeof evaluationSchema>;

/** What an experiment file says of its own evaluations: all but the policy, which is its agent. */
export const benchmarksSchema = z
  .strictObject({ every: z.int().positive().default(10).describe('After every so many epochs, and after the last.'), ...how })
  .describe('Evaluation of the agent on benchmarks.');

/** JSON Schema of the file as people write it. */
export const evaluationJsonSchema = (): JsonSchema => withoutLimitsOfIntegers(z.toJSONSchema(evaluationSchema, { io: 'input', target: 'draft-7' }) as JsonSchema);

/**
 * The evaluation file as it will run. Whether there are suites of these names is known where they are opened.
 * @throws InvalidConfig naming every wrong field, what it holds and what is allowed
 */
export function parseEvaluation(raw: unknown): Evaluation {
  if (raw === undefined || raw === null) throw new InvalidConfig('evaluation: no input was given; expected the content of an evaluation file (`--input-file experiments/evaluate-gold.json`)');
  if (!isObject(raw)) throw new InvalidConfig(`evaluation: got ${show(raw)}; expected an object, the content of an evaluation file`);
  const parsed = evaluationSchema.safeParse(raw);
  if (!parsed.success) {
    const schema = evaluationJsonSchema();
    throw new InvalidConfig(parsed.error.issues.flatMap((issue) => describeIssue(issue, raw, schema)).map((problem) => `evaluation: ${problem}`).join('\n'));
  }
  const evaluation = { ...parsed.data };
  delete evaluation.$schema;
  const { policy, toolFormat } = evaluation;
  if (toolFormat === 'native' && policy.type !== 'gold' && policy.api === 'completions') throw new InvalidConfig('evaluation: toolFormat: got "native"; completions take no tools: expected "prompt", or policy.api "chat"');
  return evaluation;
}
