/** The client of a policy's server: its requests, its completions, and what can go wrong. */
import { deriveSeed } from '../numerics/random.ts';

/**
 * One request to a model server: the unit of batching, storage and retry. It follows from the phase's input
 * alone.
 */
export interface CompletionRequest {
  model: string;
  /** Texts, or token ids if a rollout continues. */
  prompts: string[] | number[][];
  /** Samples of each prompt. */
  n: number;
  seed: number;
  /** Seed of each prompt, if it may not follow from the request's: see `promptSeed`. */
  promptSeeds?: readonly number[];
  temperature: number;
  maxTokens: number;
  /** Texts at which a completion ends. */
  stop?: readonly string[];
  /** JSON Schema that the server holds the texts to. */
  schema?: Readonly<Record<string, unknown>>;
  /** Grammar that the server holds the texts to, in xgrammar's EBNF; of a schema and a grammar, there is one. */
  grammar?: string;
}

/** One sample, with the token ids and log-probabilities of the moment it was drawn. */
export interface Completion {
  prompt: number;
  sample: number;
  text: string;
  prompt_token_ids: number[];
  token_ids: number[];
  /** How many tokens the text has, of a server that gives no ids of them but their number. */
  tokens?: number;
  /** How many tokens of the prompt the server read for this sample, where it gives their number alone. */
  promptTokens?: number;
  logprobs: number[];
  /** `stop`, `length`, or `PROMPT_TOO_LONG`. */
  finish_reason: string;
  /** The seed that was sent with its prompt; absent if that is the request's, as with the embedded server. */
  seed?: number;
}

/**
 * Finish reason of a completion without tokens: the model has no room for its prompt. In records it is also
 * the reason why a text is no valid task.
 */
export const PROMPT_TOO_LONG = 'prompt_too_long';

/** Tokens that the server read for these completions: those of each prompt once, if it read them once. */
export const promptTokens = (completions: readonly Completion[]): number =>
  completions.reduce(
    (total, { sample, prompt_token_ids: ids, promptTokens: read }) =>
      total + (read ?? (sample === 0 ? ids.length : 0)),
    0,
  );

/** Tokens that the server sampled for these completions, counted by it or by their ids. */
export const sampledTokens = (completions: readonly Completion[]): number =>
  completions.reduce((total, { token_ids: ids, tokens = ids.length }) => total + tokens, 0);

/** Whether a completion is not all that the model would have written. */
export const isCutShort = ({ finish_reason }: Pick<Completion, 'finish_reason'>): boolean =>
  finish_reason === 'length' || finish_reason === PROMPT_TOO_LONG;

/**
 * Seed of a prompt that is sent in a request of its own. vLLM would give all prompts of one request the same
 * seed, and sample j of each seed + j: equal noise in answers to different prompts.
 */
export const promptSeed = ({ seed, promptSeeds }: CompletionRequest, prompt: number): number =>
  promptSeeds?.[prompt] ?? deriveSeed(seed, 'prompt', prompt);

/** How probable given completions are, one of each prompt. */
export interface LogprobsRequest {
  model: string;
  prompts: string[];
  completions: string[];
}

export interface PolicyClient {
  /**
   * Completions ordered by prompt, then sample; those of a prompt that is too long say so.
   * @throws ModelUnavailable if the server cannot answer now, ModelNotServed if it does not know the model,
   * InvalidAnswer if its answer cannot be used, DamagedModel if the model's weights are damaged,
   * RequestRefused if sending the request again would not help; the signal's reason when it aborts
   */
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion[]>;
  /**
   * log P(completion, then the end of the sequence | prompt) at temperature 1, for each prompt: one forward pass,
   * nothing is sampled. Absent if the server has no way to say it.
   * @throws as `complete` does
   */
  completionLogprobs?(request: LogprobsRequest, signal: AbortSignal): Promise<number[]>;
  /**
   * Token ids of a text as it stands in the middle of a rollout: nothing is added before or after.
   * @throws as `complete` does
   */
  tokenize(model: string, text: string, signal: AbortSignal): Promise<number[]>;
  /**
   * Most tokens that a prompt and its completion may have together; null if the server does not say.
   * @throws as `complete` does
   */
  contextLength(model: string, signal: AbortSignal): Promise<number | null>;
  /**
   * Tokens of a prompt, with what the tokenizer puts before and after it.
   * @throws as `complete` does
   */
  promptLength(model: string, prompt: string, signal: AbortSignal): Promise<number>;
}

/** Tokens that a tokenizer puts before or after a text, at most. */
const MAX_ADDED_TOKENS = 8;

/**
 * Whether a model with this context has room for a prompt and `maxTokens` more. A token has at least one byte,
 * so most prompts are known to fit without their tokens.
 */
export async function hasRoomFor(
  client: Pick<PolicyClient, 'promptLength'>,
  { model, maxTokens, contextLength }: { model: string; maxTokens: number; contextLength: number | null },
  prompt: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (contextLength === null) return true;
  const room = contextLength - maxTokens;
  if (Buffer.byteLength(prompt) + MAX_ADDED_TOKENS <= room) return true;
  return (await client.promptLength(model, prompt, signal)) <= room;
}

interface ProblemOptions {
  cause?: unknown;
  server?: string;
  reason?: string;
}

/** A server that cannot answer now: a workflow waits for it, and tells people what for. */
export abstract class ServerProblem extends Error {
  /** Its base URL. */
  readonly server: string | undefined;
  /** In a few words. */
  readonly reason: string;
  /** Whether the server had answered other requests of the same attempt before. */
  progressed = false;
  constructor(message: string, { cause, server, reason = message }: ProblemOptions = {}) {
    super(message, { cause });
    this.server = server;
    this.reason = reason;
  }
}

/** The server is away, overloaded or broken; the same request may succeed later. */
export class ModelUnavailable extends ServerProblem {
  override readonly name = 'ModelUnavailable';
  /** The server's `Retry-After`, if it sent one. */
  readonly retryAfterMs: number | undefined;
  /** Whether it answers fewer requests than it gets. */
  readonly isRateLimit: boolean;
  constructor(
    message: string,
    options: ProblemOptions & { retryAfterMs?: number | undefined; isRateLimit?: boolean } = {},
  ) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.isRateLimit = options.isRateLimit ?? false;
  }
}

/**
 * The server knows no model of this name: it has restarted, or lost what was published to it. Publishing it
 * again helps.
 */
export class ModelNotServed extends ServerProblem {
  override readonly name = 'ModelNotServed';
}

/** The answer does not fit the request: wrong model, missing token ids, wrong number of choices. Retried. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** The server refuses the request as such (4xx). Never retried. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
}

/**
 * The prompt leaves no room in the model's context: a fact about the model, not a fault. A `PolicyClient`
 * answers with completions that say so instead.
 */
export class PromptTooLong extends RequestRefused {}

/**
 * The weights that the server was to load are damaged. Never retried; fails like a damaged file of the store.
 */
export class DamagedModel extends Error {
  override readonly name = 'InvalidArtifact';
  readonly file: string;
  constructor(file: string, problem: string) {
    super(
      `Invalid artifact ${file}: ${problem}. Run \`genenv verify\` to see all that is damaged; ` +
        'what a phase made is made again when its key is looked up.',
    );
    this.file = file;
  }
}
