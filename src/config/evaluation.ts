import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { JsonSchema } from '../validation/json-schema.ts';
import { fileJsonSchema, parseFile } from '../validation/parse-file.ts';
import { nameField, nonNegativeCount, schemaField } from '../validation/limited-fields.ts';
import { evaluationOptions } from './evaluation-settings.ts';
import { runIdPattern } from './run-id.ts';
import { apiKeyEnv, httpUrl } from '../validation/server-address.ts';

export const evaluationIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,67}$/;
export const evaluationIdRule =
  'expected 1 to 68 letters, digits, dots, dashes or underscores, a letter or digit first';

/** Length limit of the id of a run with evaluations: their ids have 68 characters at most. */
export const MAX_EVALUATED_RUN_ID_LENGTH = 46;

const policySchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('served'),
        baseUrl: httpUrl.describe('OpenAI-compatible server.'),
        model: nameField.describe('Name that the server knows the model by.'),
        apiKeyEnv,
        api: z
          .enum(['chat', 'completions'])
          .default('chat')
          .describe(
            'Endpoint: `chat` with the model’s own template, or `completions` in ChatML, many questions a request.',
          ),
      })
      .describe('A model behind a server.'),
    z
      .strictObject({
        type: z.literal('run'),
        run: z.string().regex(runIdPattern, 'expected the id of a run').describe('Id of a run.'),
        epoch: nonNegativeCount.nullable().default(null).describe('Its committed epoch; null = the last.'),
        api: z.enum(['chat', 'completions']).default('chat').describe('As for a served one.'),
      })
      .describe('The agent of a run, asked on the server that the run used.'),
    z
      .strictObject({ type: z.literal('gold') })
      .describe('The answer key itself, to see that suites are whole; cases without a key are left out.'),
  ])
  .describe('The policy that is evaluated.');

export const evaluationSchema = z
  .strictObject({
    $schema: schemaField,
    name: z
      .string()
      .regex(evaluationIdPattern, evaluationIdRule)
      .describe('Name of the evaluation; its id unless another is given.'),
    policy: policySchema,
    ...evaluationOptions,
  })
  .describe('An evaluation of a policy on benchmarks.');

export type Evaluation = z.infer<typeof evaluationSchema>;

/** JSON Schema of the file as people write it. */
export const evaluationJsonSchema = (): JsonSchema => fileJsonSchema(evaluationSchema);

/**
 * The evaluation file as it will run. Whether there are suites of these names is known where they are opened.
 * @throws InvalidConfig naming every wrong field, what it holds and what is allowed
 */
export function parseEvaluation(raw: unknown): Evaluation {
  const evaluation = { ...parseFile('evaluation', evaluationSchema, raw, 'experiments/evaluate-gold.json') };
  delete evaluation.$schema;
  const { policy, toolFormat } = evaluation;
  if (toolFormat === 'native' && policy.type !== 'gold' && policy.api === 'completions')
    throw new InvalidConfig(
      'evaluation: toolFormat: got "native"; completions take no tools: expected "prompt", or policy.api "chat"',
    );
  return evaluation;
}
