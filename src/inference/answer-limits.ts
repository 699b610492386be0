/** How large answers may be, by what was asked for. */
import { InvalidAnswer } from './policy-client.ts';
import type { CompletionRequest } from './policy-client.ts';

/** Headers, usage, and fields that a server adds. */
const BASE_BYTES = 64_000;
/** A token's text, up to three times (text, token, likeliest tokens), with its id, log-probability and offset. */
const BYTES_PER_TOKEN = 512;
/** A prompt's token id, or its log-probability with the id. */
const BYTES_PER_PROMPT_TOKEN = 64;
/** More than any tokenizer has: the longest tokens are runs of 128 spaces. */
const MAX_CHARACTERS_PER_TOKEN = 256;
/** Whatever was asked for: no suite and no world reads more. */
const MAX_ANSWER_CHARACTERS = 2_000_000;

/**
 * Most bytes that the answer to a request for completions can have: samples x tokens x 512, and for each sample
 * the tokens of its prompt x 64, and 64,000. A text has at most a token a byte.
 */
export function maxAnswerBytes({
  prompts,
  n,
  maxTokens,
}: Pick<CompletionRequest, 'prompts' | 'n' | 'maxTokens'>): number {
  let promptTokens = 0;
  for (const prompt of prompts)
    promptTokens += typeof prompt === 'string' ? Buffer.byteLength(prompt) : prompt.length;
  const tokens = prompts.length * n * maxTokens;
  return BASE_BYTES + tokens * BYTES_PER_TOKEN + n * promptTokens * BYTES_PER_PROMPT_TOKEN;
}

/** As `maxAnswerBytes`, for a question of a chat. */
export const maxChatAnswerBytes = (maxTokens: number): number => BASE_BYTES + maxTokens * BYTES_PER_TOKEN;

/** Most bytes of the tokens of a text. */
export const maxTokensBytes = (text: string): number =>
  BASE_BYTES + Buffer.byteLength(text) * BYTES_PER_PROMPT_TOKEN;

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
