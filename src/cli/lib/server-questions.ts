/** What checks ask of a model server, whatever its dialect. */
import { z } from 'zod';
import { maxTokensValues } from '../../inference/answer-limits.ts';
import { baseModelIn } from '../../inference/model-cards.ts';
import type { ModelCard } from '../../inference/model-cards.ts';
import { connectionProblem } from '../../inference/outage-reason.ts';
import { InvalidAnswer, ServerProblem } from '../../inference/policy-client.ts';
import { createCaller, parseBody } from '../../inference/server-calls.ts';
import type { Call } from '../../inference/server-calls.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import { countText } from './text.ts';

/** The longest prompt of a role, and the most tokens that are sampled after it. */
export interface LongestPrompt {
  role: string;
  text: string;
  maxTokens: number;
}

const tokenizedSchema = z.object({ count: z.int().min(0) });

/** Log-probabilities of one token that differ by more are of different distributions. */
export const LOGPROB_TOLERANCE = 1e-3;

const REQUEST_MS = 120_000;

/** @param base root of the server */
export const createQuestions = (base: string, apiKey: string | undefined): Call =>
  createCaller({ baseUrl: base, apiKey, timeoutMs: REQUEST_MS });

/** The base model that the server lists, or what is wrong with the address. */
export async function findBaseModel(call: Call, base: string, address: string): Promise<ModelCard | Check> {
  const { status, text } = await call('/v1/models', undefined);
  if (status === 401 || status === 403)
    return missing(base, `answered ${status}`, 'set the variable that apiKeyEnv names to its key');
  if (status !== 200)
    return missing(base, `answered ${status} to /v1/models`, `name the address of ${address}`);
  return baseModelIn(`${base}/v1`, text);
}

/** Tokens of prompt and answer by role; those that the server does not count are left out. */
export async function longestTokens(
  call: Call,
  model: string,
  prompts: readonly LongestPrompt[],
): Promise<{ text: string; need: number }> {
  const longest: { role: string; tokens: number }[] = [];
  for (const { role, text, maxTokens } of prompts) {
    const { status, text: answer } = await call('/tokenize', { model, prompt: text });
    if (status !== 200) continue;
    const { count } = parseBody(tokenizedSchema, answer, `tokens of ${model}`, maxTokensValues(text));
    longest.push({ role, tokens: count + maxTokens });
  }
  return {
    text: longest.map(({ role, tokens }) => `${role} ${countText(tokens)}`).join(', '),
    need: Math.max(0, ...longest.map(({ tokens }) => tokens)),
  };
}

/** Whether prompt and answer fit. @param flag that sets the limit */
export function lengthCheck(
  limit: number | null | undefined,
  { text, need }: { text: string; need: number },
  flag: string,
): Check {
  if (limit === null || limit === undefined)
    return note('Length', `the server does not say; needed: ${text}`);
  return need > limit
    ? missing(
        'Length',
        `${countText(limit)} tokens; prompt and answer take ${text}`,
        `start it with ${flag} ${need} or more, or lower sampling.maxTokens`,
      )
    : ok('Length', `${countText(limit)} tokens; the longest prompt and answer take ${text}`);
}

/** A server that did not answer a question, or not as its dialect says. */
export const failedQuestion = (base: string, error: unknown): Check => {
  const finding = error instanceof ServerProblem ? error.reason : connectionProblem(error);
  return error instanceof InvalidAnswer
    ? missing(
        base,
        `gave another answer than expected: ${finding}`,
        'correct serving.type and serving.baseUrl',
      )
    : missing(base, `does not answer: ${finding}`, 'start it, or correct serving.baseUrl');
};

export const structureCheck = ({ status, text }: Awaited<ReturnType<Call>>): Check =>
  status === 200
    ? ok('Structured output', 'the schema or grammar of the world is taken')
    : missing(
        'Structured output',
        `answered ${status}: ${text.slice(0, 200)}`,
        'set serving.structuredOutput to "none", or start the server with another structured output backend',
      );

export const logprobsCheck = (areProcessed: boolean, remedy: string): Check =>
  areProcessed
    ? ok('Log-probabilities', 'of the distribution that was sampled from')
    : missing(
        'Log-probabilities',
        'the same at every temperature: those before sampling',
        `${remedy}, or GRPO trains on ratios that are wrong`,
      );
