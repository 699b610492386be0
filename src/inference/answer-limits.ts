/** How large answers may be, by what was asked for. */
import { InvalidAnswer } from './policy-client.ts';
import type { CompletionRequest } from './policy-client.ts';

/** Headers, usage, and fields that a server adds. */
const BASE_BYTES = 64_000;
/** A token's text, up to three times (text, token, likeliest tokens), with its id, log-probability and offset. */
const BYTES_PER_TOKEN = 512;
/** A prompt's token id, or its log-probability with the id. */
const BYTES_PER_PROMPT_TOKEN = 64;
/** A token's id, text, log-probability and offset, and likeliest tokens with theirs. */
const VALUES_PER_TOKEN = 32;
/** A prompt's token id, or its log-probability with the id. */
const VALUES_PER_PROMPT_TOKEN = 8;
/** What surrounds them, and fields that a server adds: as many as fit in `BASE_BYTES`. */
const BASE_VALUES = BASE_BYTES / 2;
/** Of a list of models, tokens or adapters. */
export const MAX_LIST_BYTES = 4_000_000;
/** More than any tokenizer has: the longest tokens are runs of 128 spaces. */
const MAX_CHARACTERS_PER_TOKEN = 256;
/** Whatever was asked for: no suite and no world reads more. */
const MAX_ANSWER_CHARACTERS = 2_000_000;

/**
 * Most bytes that the answer to a request for completions can have: samples x tokens x 512, and for each sample
 * the tokens of its prompt x 64, and 64,000. A text has at most a token a byte.
 */
export function maxAnswerBytes(request: TokenRequest): number {
  const { tokens, promptTokens } = tokensOf(request);
  return BASE_BYTES + tokens * BYTES_PER_TOKEN + promptTokens * BYTES_PER_PROMPT_TOKEN;
}

/** Most values of that answer, at all levels of its JSON. */
export function maxAnswerValues(request: TokenRequest): number {
  const { tokens, promptTokens } = tokensOf(request);
  return BASE_VALUES + tokens * VALUES_PER_TOKEN + promptTokens * VALUES_PER_PROMPT_TOKEN;
}

type TokenRequest = Pick<CompletionRequest, 'prompts' | 'n' | 'maxTokens'>;

/** Most tokens of all samples, and of the prompts that stand before each. */
function tokensOf({ prompts, n, maxTokens }: TokenRequest): { tokens: number; promptTokens: number } {
  let promptTokens = 0;
  for (const prompt of prompts)
    promptTokens += typeof prompt === 'string' ? Buffer.byteLength(prompt) : prompt.length;
  return { tokens: prompts.length * n * maxTokens, promptTokens: n * promptTokens };
}

/** As `maxAnswerBytes`, for a question of a chat. */
export const maxChatAnswerBytes = (maxTokens: number): number => BASE_BYTES + maxTokens * BYTES_PER_TOKEN;

/** As `maxAnswerValues`, for a question of a chat. */
export const maxChatAnswerValues = (maxTokens: number): number => BASE_VALUES + maxTokens * VALUES_PER_TOKEN;

/** Most bytes of the tokens of a text. */
export const maxTokensBytes = (text: string): number =>
  BASE_BYTES + Buffer.byteLength(text) * BYTES_PER_PROMPT_TOKEN;

/** Most values of the answer with them. */
export const maxTokensValues = (text: string): number =>
  BASE_VALUES + Buffer.byteLength(text) * VALUES_PER_PROMPT_TOKEN;

/** Most tokens that an answer may say it has, those that a model thinks unseen among them: counts are added up. */
export const MAX_COUNTED_TOKENS = 10_000_000;

/** Most bytes of one number for each of so many prompts. */
export const maxLogprobsBytes = (prompts: number): number => BASE_BYTES + prompts * BYTES_PER_PROMPT_TOKEN;

/** More numbers than any model's embedding has. */
const MAX_DIMENSIONS = 16_384;
/** A number of an embedding, with what separates it from the next. */
const BYTES_PER_DIMENSION = 32;

/** Most bytes of the embeddings of so many texts. */
export const maxEmbeddingsBytes = (texts: number): number =>
  BASE_BYTES + texts * MAX_DIMENSIONS * BYTES_PER_DIMENSION;

/** Most values of the answer with them. */
export const maxEmbeddingsValues = (texts: number): number => BASE_VALUES + texts * (MAX_DIMENSIONS + 8);

/** Options of a request by OpenAI's client that bound its answer, if the client has `boundedFetch`. */
export const boundAnswer = (maxBytes: number): { fetchOptions: object } => ({ fetchOptions: { maxBytes } });

/** @throws InvalidAnswer for a text that `maxTokens` tokens cannot have */
export function checkTextLength(text: string, maxTokens: number, where: string): void {
  const limit = Math.min(maxTokens * MAX_CHARACTERS_PER_TOKEN, MAX_ANSWER_CHARACTERS);
  if (text.length > limit)
    throw new InvalidAnswer(
      `${where} has ${text.length} characters; ${limit} is the most for ${maxTokens} tokens`,
    );
}
