/** The client of a server with OpenAI's embeddings: of any model, frozen. */
import { APIError } from 'openai';
import type OpenAI from 'openai';
import { z } from 'zod';
import type { Embedding } from '../coevolution/embedding-similarity.ts';
import { boundAnswer, maxEmbeddingsBytes, maxEmbeddingsValues } from './answer-limits.ts';
import { checkAnswer, countedTokens, listOf } from './answer-schemas.ts';
import { toModelError, unansweredInTime } from './model-errors.ts';
import { createOpenAiClient } from './openai-client.ts';
import { InvalidAnswer, PromptTooLong } from './policy-client.ts';
import type { ServerAddress } from './server-urls.ts';

export interface EmbeddingRequest {
  model: string;
  /** At most `MAX_EMBEDDED_TEXTS`. */
  texts: readonly string[];
}

export interface Embeddings {
  /** One of each text, in their order; undefined for a text that is too long for the model. */
  vectors: (Embedding | undefined)[];
  /** Tokens read; 0 if the server does not count them. */
  promptTokens: number;
}

export interface EmbeddingClient {
  /** @throws as `PolicyClient.complete` does, but for texts that are too long */
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
}

/** Texts of a request: as many as every server takes that is in use (Text Embeddings Inference: 32). */
export const MAX_EMBEDDED_TEXTS = 32;

/** Bound so that no sum of squares is infinite. */
const component = z.number().min(-1e9).max(1e9);
const embeddingsSchema = z.object({
  data: listOf(z.object({ index: z.int().min(0), embedding: listOf(component) })),
  usage: z.object({ prompt_tokens: countedTokens.nullish() }).nullish(),
});

/** The client of any server with OpenAI's embeddings. It never retries by itself: the activity does. */
export function createEmbeddingClient(server: ServerAddress): EmbeddingClient {
  const client = createOpenAiClient(server);
  const embedTogether = async (
    { model, texts }: EmbeddingRequest,
    signal: AbortSignal,
  ): Promise<Embeddings> => {
    try {
      return await requestEmbeddings(client, { model, texts }, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // Text Embeddings Inference says so by this status.
      if (error instanceof APIError && error.status === 413)
        throw new PromptTooLong(`${server.baseUrl} refused a text for ${model} as too long`, {
          cause: error,
        });
      throw toModelError(error, server, model);
    }
  };
  const embedEach = async ({ model, texts }: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> => {
    const vectors: Embeddings['vectors'] = [];
    let promptTokens = 0;
    for (const text of texts) {
      const alone = await undefinedIfTooLong(embedTogether({ model, texts: [text] }, signal));
      vectors.push(alone?.vectors[0]);
      promptTokens += alone?.promptTokens ?? 0;
    }
    return { vectors, promptTokens };
  };
  return {
    async embed(request, signal) {
      // Each request has this limit; so have all together.
      const limit = AbortSignal.timeout(server.timeoutMs);
      const stop = AbortSignal.any([signal, limit]);
      try {
        const together = await undefinedIfTooLong(embedTogether(request, stop));
        // The server does not say which text is too long.
        return together ?? (await embedEach(request, stop));
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw limit.aborted ? unansweredInTime(server, request.model, error) : error;
      }
    },
  };
}

async function undefinedIfTooLong(embeddings: Promise<Embeddings>): Promise<Embeddings | undefined> {
  try {
    return await embeddings;
  } catch (error) {
    if (error instanceof PromptTooLong) return undefined;
    throw error;
  }
}

async function requestEmbeddings(
  client: OpenAI,
  { model, texts }: EmbeddingRequest,
  signal: AbortSignal,
): Promise<Embeddings> {
  const answer: unknown = await client.post('/embeddings', {
    // Half of a surrogate pair, which a model may write, is no text to some servers.
    body: { model, input: texts.map((text) => text.toWellFormed()), encoding_format: 'float' },
    signal,
    ...boundAnswer(maxEmbeddingsBytes(texts.length)),
  });
  const what = `embeddings of ${model}`;
  const { data, usage } = checkAnswer(embeddingsSchema, answer, what, maxEmbeddingsValues(texts.length));
  const vectors = data.toSorted((left, right) => left.index - right.index).map(({ embedding }) => embedding);
  if (vectors.length !== texts.length || !data.every(({ index }) => index < texts.length) || hasRepeats(data))
    throw new InvalidAnswer(`${what}: got ${data.length}; expected ${texts.length}, one of each text`);
  const length = vectors[0]?.length ?? 0;
  if (vectors.some((vector) => vector.length !== length || vector.every((value) => value === 0)))
    throw new InvalidAnswer(`${what}: got vectors of different lengths, or of zeros alone`);
  return { vectors, promptTokens: usage?.prompt_tokens ?? 0 };
}

const hasRepeats = (data: readonly { index: number }[]): boolean =>
  new Set(data.map(({ index }) => index)).size !== data.length;
