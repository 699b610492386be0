/** What people are shown of `results.json`, which anybody who shares the disk can write. */
import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { describeIssues } from '../validation/issue-messages.ts';
import type { JsonSchema } from '../validation/json-schema.ts';

const count = z.int().min(0).max(1_000_000_000_000);
const label = z.string().min(1).max(500);
const note = z.string().max(20_000);

/* eslint-disable id-denylist -- names of fields on disk */
const scoreSchema = z.object({
  name: label,
  value: z.number(),
  of: count,
  successes: z.number().nullable(),
  interval: z.object({ low: z.number(), high: z.number() }).nullable(),
  note: note.optional(),
});
const suiteSchema = z.union([
  z.object({ name: label, skipped: note }),
  z.object({
    name: label,
    skipped: z.null(),
    whole: z.boolean(),
    cases: count,
    correct: count,
    scores: z.array(scoreSchema).max(1_000),
    questions: count,
    tokens: count,
    cutOff: count,
    tooLong: count,
  }),
]);
/* eslint-enable id-denylist */

const resultsSchema = z.object({
  id: label,
  judged: count,
  evaluation: z.object({
    temperature: z.number(),
    maxTokens: count,
    seed: count,
    toolFormat: label,
    limit: count.nullable(),
    search: z.object({ url: note }).nullable(),
    judge: z.object({ model: note }).nullable(),
  }),
  policy: z.discriminatedUnion('type', [
    z.object({ type: z.literal('gold') }),
    z.object({ type: z.literal('served'), baseUrl: note, model: note, api: label }),
    z.object({ type: z.literal('run'), run: label, epoch: count, api: label }),
  ]),
  suites: z.array(suiteSchema).max(10_000),
  aggregates: z.array(scoreSchema).max(10_000),
});
export type ShownResults = z.infer<typeof resultsSchema>;
export type ShownScore = z.infer<typeof scoreSchema>;
export type EvaluatedSuite = Extract<ShownResults['suites'][number], { skipped: null }>;

/** @throws InvalidConfig naming the fields that are not what they should be */
export function parseResults(results: unknown): ShownResults {
  const parsed = resultsSchema.safeParse(results);
  if (parsed.success) return parsed.data;
  const schema = z.toJSONSchema(resultsSchema, { io: 'input', target: 'draft-7' }) as JsonSchema;
  const problems = describeIssues(parsed.error.issues.slice(0, MAX_PROBLEMS), results, schema);
  throw new InvalidConfig(problems.map((problem) => `results.json: ${problem}`).join('\n'));
}

const MAX_PROBLEMS = 3;
