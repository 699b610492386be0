/** What checks ask of a model server, whatever its dialect. */
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import { countText } from './text.ts';

interface Answer {
  status: number;
  text: string;
  /** The body as JSON; undefined if it is none. */
  json: unknown;
}

/** Asks a path of the server: by GET, or with a body. */
export type Ask = (path: string, body?: object) => Promise<Answer>;

/** The longest prompt of a role, and the most tokens that are sampled after it. */
export interface LongestPrompt {
  role: string;
  text: string;
  maxTokens: number;
}

export interface ModelCard {
  id: string;
  root?: string | null;
  parent?: string | null;
  max_model_len?: number | null;
}

/** Log-probabilities of one token that differ by more are of different distributions. */
export const LOGPROB_TOLERANCE = 1e-3;

const REQUEST_SECONDS = 120;

/** @param base address without a path */
export function createAsk(base: string, apiKey: string | undefined): Ask {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  return async (path, body) => {
    const response = await fetch(`${base}${path}`, {
      headers,
      signal: AbortSignal.timeout(REQUEST_SECONDS * 1000),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: parseJson(text) };
  };
}

/** The base model that the server lists, or what is wrong with the address. */
export async function findBaseModel(ask: Ask, base: string, address: string): Promise<ModelCard | Check> {
  const { status, json } = await ask('/v1/models');
  if (status === 401 || status === 403)
    return missing(base, `answered ${status}`, 'set the variable that apiKeyEnv names to its key');
  const card = (json as { data?: ModelCard[] } | undefined)?.data?.find(
    ({ parent }) => (parent ?? null) === null,
  );
  return status === 200 && card !== undefined
    ? card
    : missing(base, `answered ${status} to /v1/models`, `name the address of ${address}`);
}

/** Tokens of prompt and answer by role; those that the server does not count are left out. */
export async function longestTokens(
  ask: Ask,
  model: string,
  prompts: readonly LongestPrompt[],
): Promise<{ text: string; need: number }> {
  const longest: { role: string; tokens: number }[] = [];
  for (const { role, text, maxTokens } of prompts) {
    const { json } = await ask('/tokenize', { model, prompt: text });
    const count = (json as { count?: number } | undefined)?.count;
    if (count !== undefined) longest.push({ role, tokens: count + maxTokens });
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

export const unreachable = (base: string, error: unknown): Check =>
  missing(base, `does not answer: ${reasonOf(error)}`, 'start it, or correct serving.baseUrl');

export const structureCheck = ({ status, text }: Answer): Check =>
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
