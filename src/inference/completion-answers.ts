/** Answers of completions, checked against their requests. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { checkTextLength, maxAnswerValues } from './answer-limits.ts';
import { checkAnswer, countedTokens, listOf } from './answer-schemas.ts';
import { abortedAnswer } from './model-errors.ts';
import { InvalidAnswer } from './policy-client.ts';
import type { Completion, CompletionRequest } from './policy-client.ts';

/** What vLLM calls the end of a request that it dropped, such as one under way when it was put to sleep. */
export const ABORTED = 'abort';

const tokenIds = listOf(z.int().min(0));
/** A float32 log-probability, and a sum of them, may exceed 0 by its rounding. */
export const roundedLogprobSchema = z.number().max(1e-3);
/** A trainer takes none above 0. */
export const logprobSchema = roundedLogprobSchema.transform((value) => Math.min(0, value));
const textChoice = { index: z.int().min(0), text: z.string(), finish_reason: z.string() };
const createAnswerSchema = <Choice extends z.ZodType>(choice: Choice) =>
  z.object({
    model: z.string(),
    choices: listOf(choice),
    usage: z.object({ completion_tokens: countedTokens }).nullish(),
  });
const answerSchema = createAnswerSchema(
  z.object({
    ...textChoice,
    token_ids: tokenIds,
    prompt_token_ids: tokenIds,
    logprobs: z.object({ token_logprobs: listOf(logprobSchema) }),
  }),
);
/**
 * Of a server that gives no token ids: enough for a frozen policy, which is never trained on what it wrote.
 */
const textAnswerSchema = createAnswerSchema(
  z.object(textChoice).transform((choice) => ({
    ...choice,
    token_ids: [],
    prompt_token_ids: [],
    logprobs: { token_logprobs: [] },
  })),
);

/**
 * Parses an answer and checks it against its request. A server that gives no token ids may answer by a name of its
 * own for the model.
 * @throws InvalidAnswer saying what is wrong with it, ModelUnavailable if the server ended a choice before it was whole
 */
export function parseAnswer(
  answer: unknown,
  request: CompletionRequest,
  { baseUrl, returnsTokenIds = true }: { baseUrl: string; returnsTokenIds?: boolean },
): Completion[] {
  const { model, choices, usage } = checkAnswer(
    returnsTokenIds ? answerSchema : textAnswerSchema,
    answer,
    `answer of ${request.model}`,
    maxAnswerValues(request),
  );
  if (returnsTokenIds && model !== request.model)
    throw new InvalidAnswer(
      `answer of model ${JSON.stringify(model)}; ${JSON.stringify(request.model)} was asked`,
    );
  const expected = request.prompts.length * request.n;
  if (choices.length !== expected)
    throw new InvalidAnswer(`answer of ${model} has ${choices.length} choices; ${expected} were asked`);
  // The server counts the tokens of all choices together: each gets an even share.
  const counted = returnsTokenIds ? undefined : usage?.completion_tokens;
  return choices
    .toSorted((a, b) => a.index - b.index)
    .map((choice, index) => {
      if (choice.finish_reason === ABORTED) throw abortedAnswer(baseUrl, model);
      const logprobs = choice.logprobs.token_logprobs;
      if (choice.index !== index) throw new InvalidAnswer(`answer of ${model} lacks choice ${index}`);
      if (logprobs.length !== choice.token_ids.length)
        throw new InvalidAnswer(
          `choice ${index} of ${model} has ${choice.token_ids.length} token ids ` +
            `but ${logprobs.length} log-probabilities`,
        );
      const sent = request.prompts[Math.floor(index / request.n)];
      if (typeof sent === 'object' && !isDeepStrictEqual(sent, choice.prompt_token_ids))
        throw new InvalidAnswer(`choice ${index} of ${model} follows other tokens than those sent`);
      if (choice.token_ids.length > request.maxTokens)
        throw new InvalidAnswer(
          `choice ${index} of ${model} has ${choice.token_ids.length} tokens; ` +
            `at most ${request.maxTokens} were asked`,
        );
      checkTextLength(choice.text, request.maxTokens, `choice ${index} of ${model}`);
      return {
        prompt: Math.floor(index / request.n),
        sample: index % request.n,
        // Half of a surrogate pair, which JSON lets through, cannot be stored as UTF-8.
        text: choice.text.toWellFormed(),
        prompt_token_ids: choice.prompt_token_ids,
        token_ids: choice.token_ids,
        ...(counted !== undefined && { tokens: share(counted, choices.length, index) }),
        logprobs,
        finish_reason: choice.finish_reason,
      };
    });
}

/** The `index`-th of so many whole parts of a count, which add up to it. */
const share = (count: number, parts: number, index: number): number =>
  Math.floor(count / parts) + (index < count % parts ? 1 : 0);
