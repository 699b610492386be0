import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { deriveSeed, randomStream } from '../src/numerics/random.ts';
import type { RandomStream } from '../src/numerics/random.ts';
import { replyToChat } from './fake-chat.ts';
import type { FakeChat, ReceivedChat } from './fake-chat.ts';
import { FakeServer } from './fake-server.ts';
import { drawSeed, FakeAdapters, refusedByEmbedded, refusedLength } from './fake-vllm.ts';
import type { LikeliestRequest, SeedRule } from './fake-vllm.ts';
import { faults, reply } from './model-server-faults.ts';
import type { Answer, Choice, Fault, Reply } from './model-server-faults.ts';

/** A request as it came over the wire. */
export interface ReceivedRequest {
  model: string;
  prompt: string[] | number[][];
  n: number;
  seed: number;
  temperature: number;
  stop?: string[];
  max_tokens: number;
  logprobs?: number;
  return_token_ids?: boolean;
  response_format?: object;
  structured_outputs?: object;
}

/**
 * What stands in for a language model: the text that follows a prompt, drawn from the stream and nothing
 * else. `schema` where the request holds it to one.
 */
export type FakeModel = (prompt: string, random: RandomStream, model: string, schema?: object) => string;

export interface FakeModelServerOptions {
  model: FakeModel;
  /** What answers chat completions; without it the server has none. */
  chat?: FakeChat;
  /**
   * Share of requests that meet each fault. A request meets the same ones at the same attempts in every run,
   * whatever the order of arrival.
   */
  faultRates?: Partial<Record<Fault, number>>;
  faultSeed?: number;
  /** false for benchmarks, where they would be most of the memory. */
  keepRequests?: boolean;
  /** `vllm` if absent; `embedded` where it stands in for the embedded policy server. */
  seedRule?: SeedRule;
  /** Most tokens of a prompt and its answer; none if absent. */
  contextLength?: number;
  /** Probability of a completion and its end; without it the server has no such endpoint. */
  probability?: (prompt: string, completion: string, model: string) => number;
  /** Embedding of a text, or null if it is too long; without it the server has no such endpoint. */
  embedding?: (text: string, model: string) => number[] | null;
  /** Base model of a server of adapters: any other name must be loaded first. If absent, all are served. */
  baseModel?: { name: string; folder?: string };
}

/**
 * A model server that costs nothing: vLLM's API by vLLM's rules (`fake-vllm.ts`), answering at once. A
 * character is a token, 0 is the end of a text; equal requests have equal answers.
 */
export class FakeModelServer extends FakeServer {
  /** Every request, in the order of arrival, failed ones too. */
  readonly requests: ReceivedRequest[] = [];
  /** Every request for probabilities of completions, failed ones too. */
  readonly logprobsRequests: { model: string; prompt: string[]; completion: string[] }[] = [];
  /** Every request for embeddings, failed ones too. */
  readonly embeddingRequests: { model: string; input: string[] }[] = [];
  /** Every question of a chat. */
  readonly chats: ReceivedChat[] = [];
  /** Faults that the next requests meet, one each, before any by chance. */
  readonly nextFaults: (Fault | undefined)[] = [];
  readonly adapters: FakeAdapters;
  /** Whether it sleeps, as vLLM with `--enable-sleep-mode`. */
  isAsleep = false;
  /** What happened to it: `sleep`, `wake`, and what it was asked for meanwhile, which vLLM would queue. */
  readonly sleepLog: string[] = [];
  readonly #options: FakeModelServerOptions;
  readonly #attempts = new Map<string, number>();
  #hung: { requests: number } | undefined;

  private constructor(options: FakeModelServerOptions) {
    super();
    this.#options = options;
    this.adapters = new FakeAdapters({
      name: 'base',
      folder: '/models/base',
      contextLength: options.contextLength,
      ...options.baseModel,
    });
  }

  static async start(options: FakeModelServerOptions, port = 0): Promise<FakeModelServer> {
    const fake = new FakeModelServer(options);
    await fake.listen(port);
    return fake;
  }

  /** Base URL for an OpenAI client. */
  get url(): string {
    return `${this.origin}/v1`;
  }

  /** Takes requests from here on and answers none, until `end`; those that hang stay so. */
  hang(): { requests: number; end: () => void } {
    const hung = { requests: 0, end: () => void (this.#hung = undefined) };
    this.#hung = hung;
    return hung;
  }

  protected override answer(url: string | undefined, body: Buffer, response: ServerResponse): void {
    if (this.isAsleep && (url === '/v1/completions' || url === '/v1/load_lora_adapter'))
      this.sleepLog.push(`asked asleep: ${url}`);
    if (url === '/v1/completions') this.#complete(body, response);
    else reply(response, this.#replyTo(url, body) ?? { status: 404, body: '' });
  }

  #complete(body: Buffer, response: ServerResponse): void {
    const received = JSON.parse(body.toString('utf8')) as ReceivedRequest;
    const { model, contextLength = Infinity, seedRule = 'vllm', baseModel, keepRequests } = this.#options;
    const missing = baseModel === undefined ? undefined : this.adapters.refused(received.model);
    if (received.logprobs !== undefined && received.logprobs > 0) {
      reply(response, missing ?? this.adapters.likeliest(received as ReceivedRequest & LikeliestRequest));
      return;
    }
    if (keepRequests !== false) this.requests.push(received);
    const refused = missing ?? this.#refusedLength(received);
    if (refused !== undefined) {
      reply(response, refused);
      return;
    }
    if (this.#hung !== undefined) {
      this.#hung.requests += 1;
      return;
    }
    const fault = this.nextFaults.length > 0 ? this.nextFaults.shift() : this.#faultByChance(body);
    faults[fault ?? 'none'](response, answerTo(received, model, { seedRule, contextLength }));
  }

  /** Undefined if there is nothing at that address. */
  #replyTo(url: string | undefined, body: Buffer): Reply | undefined {
    const { baseModel, chat, contextLength = null, seedRule } = this.#options;
    const named = /^\/v1\/models\/([^/]+)$/.exec(url ?? '')?.[1];
    if (named !== undefined && (seedRule === 'embedded' || baseModel === undefined))
      return this.#card(decodeURIComponent(named));
    switch (url) {
      case '/is_sleeping':
        return { status: 200, body: { is_sleeping: this.isAsleep } };
      case '/sleep?level=1&mode=wait':
      case '/wake_up':
        this.isAsleep = url !== '/wake_up';
        this.sleepLog.push(this.isAsleep ? 'sleep' : 'wake');
        return { status: 200, body: '' };
      case '/health':
        return { status: 200, body: '' };
      case '/v1/models':
        return this.adapters.models();
      case '/tokenize': {
        const { prompt } = JSON.parse(body.toString('utf8')) as { prompt: string };
        const tokens = tokensOf(prompt);
        return { status: 200, body: { tokens, count: tokens.length, max_model_len: contextLength } };
      }
      case '/completion_logprobs': {
        const { probability } = this.#options;
        if (probability === undefined) return undefined;
        const request = JSON.parse(body.toString('utf8')) as (typeof this.logprobsRequests)[number];
        this.logprobsRequests.push(request);
        if (this.nextFaults.shift() === 'server error') return { status: 503, body: '' };
        const { model, prompt, completion } = request;
        const logprobs = prompt.map((text, row) => Math.log(probability(text, completion[row]!, model)));
        return { status: 200, body: { model, logprobs } };
      }
      case '/v1/embeddings': {
        const { embedding } = this.#options;
        if (embedding === undefined) return undefined;
        const request = JSON.parse(body.toString('utf8')) as (typeof this.embeddingRequests)[number];
        this.embeddingRequests.push(request);
        if (this.nextFaults.shift() === 'server error') return { status: 503, body: '' };
        const vectors = request.input.map((text) => embedding(text, request.model));
        if (vectors.includes(null)) return { status: 413, body: { error: 'a text is too long' } };
        const data = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: vector }));
        const prompt_tokens = request.input.reduce((total, { length }) => total + length, 0);
        // In an order of the server's own.
        return {
          status: 200,
          body: { model: request.model, data: data.toReversed(), usage: { prompt_tokens } },
        };
      }
      case '/v1/chat/completions': {
        if (chat === undefined) return undefined;
        const question = JSON.parse(body.toString('utf8')) as ReceivedChat;
        this.chats.push(question);
        return replyToChat(question, chat);
      }
      case '/v1/load_lora_adapter': {
        const { lora_name, lora_path } = JSON.parse(body.toString('utf8')) as Record<string, string>;
        return this.adapters.load(lora_name!, lora_path!);
      }
      case '/v1/unload_lora_adapter': {
        const { lora_name } = JSON.parse(body.toString('utf8')) as Record<string, string>;
        return this.adapters.unload(lora_name!);
      }
    }
    return undefined;
  }

  /** The embedded server names each model by itself. */
  #card(id: string): Reply {
    const { contextLength = null } = this.#options;
    return { status: 200, body: { id, object: 'model', created: 0, max_model_len: contextLength } };
  }

  #refusedLength({ prompt, max_tokens }: ReceivedRequest): Reply | undefined {
    const { contextLength, seedRule } = this.#options;
    if (contextLength === undefined) return undefined;
    const refuse = seedRule === 'embedded' ? refusedByEmbedded : refusedLength;
    return refuse(
      prompt.map(({ length }) => length),
      max_tokens,
      contextLength,
    );
  }

  #faultByChance(body: Buffer): Fault | undefined {
    const rates = Object.entries(this.#options.faultRates ?? {}) as [Fault, number][];
    if (rates.length === 0) return undefined;
    const hash = createHash('sha256').update(body).digest('hex');
    const attempt = this.#attempts.get(hash) ?? 0;
    this.#attempts.set(hash, attempt + 1);
    let left = randomStream(deriveSeed(this.#options.faultSeed ?? 0, hash, attempt)).next();
    return rates.find(([, rate]) => (left -= rate) < 0)?.[0];
  }
}

function answerTo(request: ReceivedRequest, model: FakeModel, options: AnswerOptions): Answer {
  let completion_tokens = 0;
  const choices = request.prompt.flatMap((input: string | number[], row) => {
    const prompt_token_ids = typeof input === 'string' ? tokensOf(input) : input;
    const prompt = typeof input === 'string' ? input : String.fromCharCode(...input);
    // Without a word vLLM gives a completion the room that is left.
    const maxTokens = Math.min(request.max_tokens, options.contextLength - prompt_token_ids.length);
    return Array.from({ length: request.n }, (_, sample): Choice => {
      const random = randomStream(drawSeed[options.seedRule](request.seed, row, sample));
      const text = model(prompt, random, request.model, request.response_format);
      const tokens = [...tokensOf(text), 0];
      const token_ids = tokens.slice(0, maxTokens);
      completion_tokens += token_ids.length;
      return {
        index: row * request.n + sample,
        text: text.slice(0, maxTokens),
        finish_reason: token_ids.length < tokens.length ? 'length' : 'stop',
        ...(request.logprobs === undefined
          ? {}
          : { logprobs: { token_logprobs: token_ids.map(() => -Math.round(random.next() * 1e4) / 1e4) } }),
        ...(request.return_token_ids === true ? { token_ids, prompt_token_ids } : {}),
      };
    });
  });
  const usage = { completion_tokens };
  return { id: 'cmpl-fake', object: 'text_completion', created: 0, model: request.model, choices, usage };
}

interface AnswerOptions {
  seedRule: SeedRule;
  contextLength: number;
}

export function tokensOf(text: string): number[] {
  const ids = new Array<number>(text.length);
  for (let index = 0; index < text.length; index++) ids[index] = text.charCodeAt(index);
  return ids;
}
