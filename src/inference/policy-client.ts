/**
 * One request to a model server: the unit of batching, storage and retry. What is in it follows from the
 * input alone.
 */
export interface CompletionRequest {
  model: string;
  /** Texts, or token ids where a rollout goes on. */
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
   * @throws ModelUnavailable where the server cannot answer now, ModelNotServed where it does not know the
   * model, InvalidAnswer where what it answered cannot be used, InvalidArtifact where the model's weights are
   * damaged, RequestRefused where asking again would not help; the signal's reason where it aborts.
   */
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion[]>;
  /**
   * Token ids of a text as it stands in the middle of a rollout: nothing is added before or after.
   * @throws as `complete` does
   */
  tokenize(model: string, text: string, signal: AbortSignal): Promise<number[]>;
}

/** The server is away, overloaded or broken; the same request may succeed later. */
export class ModelUnavailable extends Error {
  override readonly name = 'ModelUnavailable';
  /** What the server asked to wait, if it did. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: { cause?: unknown; retryAfterMs?: number | undefined } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * The server knows no model of this name: it started anew, or lost what was published to it. Publishing it
 * again helps.
 */
export class ModelNotServed extends Error {
  override readonly name = 'ModelNotServed';
}

/** The answer is not what was asked for: wrong model, missing token ids, wrong number of choices. Retried. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** The server refuses the request as such (4xx). Never retried. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
}

/** The prompt leaves no room in the model's context: a fact about the model, not a fault. */
export class PromptTooLong extends RequestRefused {}
