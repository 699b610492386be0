import { z } from 'zod';
import { nameField } from '../validation/limited-fields.ts';
import { frozenServerFields } from '../validation/frozen-server.ts';
import type { FrozenServer } from '../validation/frozen-server.ts';
import { apiKeyEnv, httpUrl } from '../validation/server-address.ts';

/** Where the policies are reached: the servers that answer for them. */

/** LoRA ranks that vLLM can be started for (`--max-lora-rank`). */
export const vllmRanks = [1, 8, 16, 32, 64, 128, 256, 320, 512] as const;

const structuredOutputField = z
  .enum(['none', 'native'])
  .optional()
  .describe(
    'Whether the server holds the simulator to the world’s schema or grammar, in worlds that have one. ' +
      'Left out = native.',
  );

const optionalApiKeyEnv = nameField
  .nullable()
  .optional()
  .describe('Name of the environment variable with the key; never the key. Left out = none.');

const addresses = z.union([httpUrl, z.array(httpUrl).min(1).max(1_000)]);

const vllmServingSchema = z
  .strictObject({
    type: z.literal('vllm'),
    baseUrl: addresses
      .optional()
      .describe(
        'Address of a vLLM that serves the base model, or of several for the same policies. Left out = the ' +
          'embedded stack starts one (`npm run engines -- vllm`), with flags that follow from this file.',
      ),
    apiKeyEnv: optionalApiKeyEnv,
    maxModelLen: z
      .int()
      .positive()
      .max(10_000_000)
      .optional()
      .describe('Most tokens of a prompt with its answer. Left out = as many as the model has positions.'),
    precision: z
      .enum(['float32', 'bfloat16'])
      .optional()
      .describe('Of weights and activations on the server. Left out = trainer.precision.'),
    sleepWhileTraining: z
      .boolean()
      .optional()
      .describe(
        'Whether the server sleeps while a training job runs, so that both use one GPU: it must have been started with ' +
          '`--enable-sleep-mode` and `VLLM_SERVER_DEV_MODE=1`, and serve one run at a time. Left out = not.',
      ),
    structuredOutput: structuredOutputField,
  })
  .describe('vLLM, with the policies as LoRA adapters over one base model.');

const sglangServingSchema = z
  .strictObject({
    type: z.literal('sglang'),
    baseUrl: addresses.describe(
      'Address of an SGLang that serves the base model, or of several for the same policies.',
    ),
    apiKeyEnv: optionalApiKeyEnv,
    structuredOutput: structuredOutputField,
  })
  .describe('SGLang, with the policies as LoRA adapters over one base model.');

export const servingSchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({ type: z.literal('embedded'), structuredOutput: structuredOutputField })
      .describe('The policy server of this project; the worker knows its address.'),
    z.strictObject({
      type: z.literal('openai'),
      baseUrl: httpUrl.describe('OpenAI-compatible server, such as vLLM.'),
      apiKeyEnv,
      publish: z
        .enum(['vllm-lora', 'none'])
        .describe(
          'How new weights reach the server: as LoRA adapters under new names. Full weights do not: vLLM holds ' +
            'one set of them, and an epoch asks several versions. none = its models are frozen.',
        ),
      returnsTokenIds: z
        .boolean()
        .describe('Whether the server answers `return_token_ids`; a policy can be trained only if it does.'),
      models: z
        .strictObject({
          agent: nameField.describe('Served name of the agent.'),
          environment: nameField.describe('Served name of the simulator.'),
        })
        .nullable()
        .default(null)
        .describe('Names of the served models if publish is none.'),
      api: z
        .enum(['completions', 'chat'])
        .optional()
        .describe(
          'Endpoint that is asked: `chat` for servers that have chat completions only, whose models are ' +
            'frozen and give no token ids. Left out = completions.',
        ),
      structuredOutput: z
        .enum(['none', 'json_schema'])
        .optional()
        .describe(
          'Whether the simulator is held to the world’s JSON Schema by the server (`response_format`), in ' +
            'worlds that have one. Left out = none.',
        ),
    }),
    vllmServingSchema,
    sglangServingSchema,
  ])
  .describe('Where the policies are reached.');

/** The simulator's own server. */
export const simulatorServerSchema = z.strictObject({
  ...frozenServerFields,
  structuredOutput: z
    .enum(['none', 'json_schema'])
    .optional()
    .describe(
      'Whether the server holds the simulator to the world’s JSON Schema, in worlds that have one. Left out = none.',
    ),
});

export type ServingSettings = z.infer<typeof servingSchema>;
export type SimulatorServer = z.infer<typeof simulatorServerSchema>;
export type VllmServing = z.infer<typeof vllmServingSchema>;

/** The same server as settings of policies that are not published to it. */
export const frozenServing = ({
  type,
  baseUrl,
  apiKeyEnv: keyVariable,
  api,
  structuredOutput,
}: FrozenServer & Pick<SimulatorServer, 'structuredOutput'>): ServingSettings => ({
  type,
  baseUrl,
  apiKeyEnv: keyVariable,
  publish: 'none',
  returnsTokenIds: false,
  models: null,
  ...(api && { api }),
  ...(structuredOutput && { structuredOutput }),
});

/** Addresses of the servers that others have started; empty if the embedded stack is to start one. */
export const outsideAddresses = ({ baseUrl }: Pick<VllmServing, 'baseUrl'>): string[] =>
  baseUrl === undefined ? [] : [baseUrl].flat();
