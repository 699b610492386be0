/** The list of models of a server (`/v1/models`), as vLLM, SGLang and the embedded policy server extend OpenAI's. */
import { z } from 'zod';
import { listOf } from './answer-schemas.ts';
import { InvalidAnswer } from './policy-client.ts';
import { failureOf, parseBody } from './server-calls.ts';
import type { Call } from './server-calls.ts';

/** What a server says of one model (`/v1/models/<name>`, and an entry of the list). */
export const modelCardSchema = z.object({
  id: z.string(),
  /** Folder of a model, or of an adapter. */
  root: z.string().nullish(),
  /** The base of an adapter. */
  parent: z.string().nullish(),
  /** Most tokens of a prompt and its answer. */
  max_model_len: z.int().positive().nullish(),
});

export const modelCardsSchema = z.object({ data: listOf(modelCardSchema) });

export type ModelCard = z.infer<typeof modelCardSchema>;

/**
 * The model that adapters are over.
 * @param address with `/v1`
 * @param text the list
 * @throws InvalidAnswer
 */
export function baseModelIn(address: string, text: string): ModelCard {
  const base = parseBody(modelCardsSchema, text, `models of ${address}`).data.find(({ parent }) => !parent);
  if (base === undefined) throw new InvalidAnswer(`models of ${address}: it lists no base model`);
  return base;
}

/** Asks for the model that adapters are over. @throws ModelUnavailable, RequestRefused, InvalidAnswer */
export async function askBaseModel(address: string, call: Call): Promise<ModelCard> {
  const { status, text } = await call('/models', undefined);
  if (status !== 200) throw failureOf(address, status, `${address}/models answered ${status}: ${text}`);
  return baseModelIn(address, text);
}
