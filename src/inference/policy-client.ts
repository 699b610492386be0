/** The client of a policy's server: its requests, its completions, and what can go wrong. */

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
  temperature: number;
  maxTokens: number;
  /** Texts at which a completion ends. */
  stop?: readonly string[];
  /** JSON Schema that the server holds the texts to. */
  schema?: Readonly<Record<string, unknown>>;
}

/** One sample, with the token ids and log-probabilities of the moment it was drawn. */
export interface Completion {
  prompt: number;
  sample: number;
  text: string;
  prompt_token_ids: number[];
  token_ids: number[];
  logprobs: number[];
  finish_reason: string;
}

export interface PolicyClient {
  /**
   * Completions ordered by prompt, then sample.
   * @throws ModelUnavailable if the server cannot answer now, ModelNotServed if it does not know the model,
   * InvalidAnswer if its answer cannot be used, DamagedModel if the model's weights are damaged,
   * RequestRefused if sending the request again would not help; the signal's reason when it aborts
   */
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion[]>;
  /**
   * Token ids of a text as it stands in the middle of a rollout: nothing is added before or after.
   * @throws as `complete` does
   */
  tokenize(model: string, text: string, signal: AbortSignal): Promise<number[]>;
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
  constructor(message: string, options: ProblemOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
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

/** The prompt leaves no room in the model's context: a fact about the model, not a fault. */
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
