/**
 * What stands in for SGLang: its endpoints and messages as its documentation and the source of 0.5.23 have them.
 * No SGLang was asked.
 */
import type { ServerResponse } from 'node:http';
import { randomStream } from '../src/numerics/random.ts';
import { replyToChat } from './fake-chat.ts';
import type { FakeChat, ReceivedChat } from './fake-chat.ts';
import { tokensOf } from './fake-model-server.ts';
import type { FakeModel } from './fake-model-server.ts';
import { FakeServer } from './fake-server.ts';
import { FakeSglangAdapters, refusal } from './fake-sglang-adapters.ts';
import { fakeLikeliest } from './fake-weights.ts';
import { reply } from './model-server-faults.ts';
import type { Reply } from './model-server-faults.ts';

interface SamplingParameters {
  n?: number;
  temperature: number;
  max_new_tokens: number;
  sampling_seed?: number;
  stop?: string[];
  json_schema?: string;
  ebnf?: string;
}

/** A request as it came over the wire. */
export interface GenerateRequest {
  input_ids: number[][];
  sampling_params: SamplingParameters | SamplingParameters[];
  lora_path: string | null;
  return_logprob?: boolean;
  top_logprobs_num?: number;
}

export interface FakeSglangOptions {
  model: FakeModel;
  /** What answers chat completions; without it the server has none. */
  chat?: FakeChat;
  baseModel?: { name: string; folder?: string };
  /** Most tokens of a prompt and its answer; none if absent. */
  contextLength?: number;
  /** false without `--enable-deterministic-inference`: seeds are not looked at. */
  isDeterministic?: boolean;
  /** Whether `SGLANG_RETURN_ORIGINAL_LOGPROB` is set: log-probabilities before the temperature. */
  originalLogprobs?: boolean;
  /** What `/server_info` says beside the version. */
  serverArguments?: object;
}

/** An SGLang that costs nothing: a character is a token, 0 is the end of a text. */
export class FakeSglang extends FakeServer {
  /** Every completion, in the order of arrival. */
  readonly requests: GenerateRequest[] = [];
  readonly adapters: FakeSglangAdapters;
  /** Changes the samples of the next answers, one each. */
  readonly nextChanges: ((samples: object[]) => object)[] = [];
  /** What the next completions are refused for, one each. */
  readonly nextRefusals: string[] = [];
  readonly #options: FakeSglangOptions;
  #draws = 0;

  private constructor(options: FakeSglangOptions) {
    super();
    this.#options = options;
    this.adapters = new FakeSglangAdapters({
      name: 'base',
      folder: '/models/base',
      contextLength: options.contextLength,
      ...options.baseModel,
    });
  }

  static async start(options: FakeSglangOptions): Promise<FakeSglang> {
    const fake = new FakeSglang(options);
    await fake.listen();
    return fake;
  }

  get url(): string {
    return this.origin;
  }

  protected override answer(url: string | undefined, body: Buffer, response: ServerResponse): void {
    const received = body.length === 0 ? {} : (JSON.parse(body.toString('utf8')) as object);
    reply(response, this.#replyTo(url, received) ?? { status: 404, body: { detail: 'Not Found' } });
  }

  #replyTo(url: string | undefined, body: object): Reply | undefined {
    const { chat, contextLength = null, isDeterministic = true, serverArguments } = this.#options;
    switch (url) {
      case '/generate':
        return this.#generate(body as GenerateRequest & { text?: string[] });
      case '/load_lora_adapter': {
        const { lora_name: name, lora_path: folder } = body as { lora_name: string; lora_path: string };
        return this.adapters.load(name, folder);
      }
      case '/unload_lora_adapter':
        return this.adapters.unload((body as { lora_name: string }).lora_name);
      case '/tokenize': {
        const tokens = tokensOf((body as { prompt: string }).prompt);
        return { status: 200, body: { tokens, count: tokens.length, max_model_len: -1 } };
      }
      case '/v1/models': {
        const { name } = this.adapters.base;
        const card = { id: name, object: 'model', owned_by: 'sglang', root: name, parent: null };
        const adapters = [...this.adapters.loaded].map(([id, { folder: root }]) => ({
          ...{ ...card, id, root, parent: name },
          max_model_len: null,
        }));
        const data = [{ ...card, max_model_len: contextLength }, ...adapters];
        return { status: 200, body: { object: 'list', data } };
      }
      case '/v1/chat/completions': {
        const question = body as ReceivedChat;
        // A name without a colon is not looked at.
        const model = /:(.+)/.exec(question.model)?.[1] ?? this.adapters.base.name;
        return chat && replyToChat({ ...question, model }, chat);
      }
      case '/server_info': {
        const flags = {
          enable_lora: null,
          enable_deterministic_inference: isDeterministic,
          ...serverArguments,
        };
        return { status: 200, body: { version: '0.5.23', ...flags } };
      }
    }
    return undefined;
  }

  #generate({ text, ...received }: GenerateRequest & { text?: string[] }): Reply {
    const request = { ...received, input_ids: text?.map(tokensOf) ?? received.input_ids };
    const isSampling = request.top_logprobs_num === undefined;
    if (isSampling) this.requests.push(request);
    const message = isSampling ? this.nextRefusals.shift() : undefined;
    if (message !== undefined) return refusal(message);
    const adapter = this.adapters.weightsOf(request.lora_path ?? null);
    if ('status' in adapter) return adapter;
    const parameters = request.input_ids.map((_, row) =>
      Array.isArray(request.sampling_params) ? request.sampling_params[row]! : request.sampling_params,
    );
    const refused = request.input_ids
      .map((ids, row) => this.#refusedLength(ids.length, parameters[row]!.max_new_tokens))
      .find((refusedOne) => refusedOne !== undefined);
    if (refused !== undefined) return refused;
    // All samples of a prompt have its seed.
    const samples = request.input_ids.flatMap((ids, row) =>
      Array.from({ length: parameters[row]!.n ?? 1 }, () =>
        isSampling
          ? this.#sample(ids, parameters[row]!, request.lora_path)
          : this.#likeliest(ids, parameters[row]!, adapter.weights, request.top_logprobs_num!),
      ),
    );
    return { status: 200, body: this.nextChanges.shift()?.(samples) ?? samples };
  }

  #refusedLength(tokens: number, maxTokens: number): Reply | undefined {
    const { contextLength = Infinity } = this.#options;
    if (tokens >= contextLength)
      return refusal(
        `The input (${tokens} tokens) is longer than the model's context length (${contextLength} tokens).`,
      );
    if (tokens + maxTokens > contextLength)
      return refusal(
        `Requested token count exceeds the model's maximum context length of ${contextLength} tokens. You ` +
          `requested a total of ${tokens + maxTokens} tokens: ${tokens} tokens from the input messages and ` +
          `${maxTokens} tokens for the completion. Please reduce the number of tokens in the input messages or ` +
          'the completion to fit within the limit.',
      );
    return undefined;
  }

  /** Noise follows from the seed alone (and a token's place), never from the prompt; 42 is the seed of none. */
  #sample(ids: number[], parameters: SamplingParameters, name: string | null): object {
    const { isDeterministic = true } = this.#options;
    const random = randomStream(isDeterministic ? (parameters.sampling_seed ?? 42) : ++this.#draws);
    const schema = parameters.json_schema ?? parameters.ebnf;
    const text = this.#options.model(
      String.fromCharCode(...ids),
      random,
      name ?? this.adapters.base.name,
      schema === undefined ? undefined : { schema },
    );
    const [end] = (parameters.stop ?? [])
      .map((stop) => ({ stop, at: text.indexOf(stop) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at);
    // The tokens of a stop text are sampled; it is cut from the text alone.
    const tokens = end === undefined ? [...tokensOf(text), 0] : tokensOf(text.slice(0, end.at) + end.stop);
    const output_ids = tokens.slice(0, parameters.max_new_tokens);
    const isCut = output_ids.length < tokens.length;
    const finish_reason = isCut
      ? { type: 'length', length: parameters.max_new_tokens }
      : { type: 'stop', matched: end?.stop ?? 0 };
    return {
      text: (isCut ? text : text.slice(0, end?.at)).slice(0, parameters.max_new_tokens),
      output_ids,
      meta_info: {
        id: 'fake',
        finish_reason,
        prompt_tokens: ids.length,
        completion_tokens: output_ids.length,
        output_token_logprobs: output_ids.map((id) => [-Math.round(random.next() * 1e4) / 1e4, id, null]),
      },
    };
  }

  #likeliest(
    ids: number[],
    { temperature }: SamplingParameters,
    weights: string | null,
    count: number,
  ): object {
    const scale = this.#options.originalLogprobs === true ? 1 : temperature;
    const all = [...fakeLikeliest(weights, ids, Math.max(count, 10))];
    // At temperature 1 they are what the fake trainer writes, which does not add up to 1.
    const sum = scale === 1 ? 1 : all.reduce((total, [, logprob]) => total + Math.exp(logprob / scale), 0);
    const top = all.slice(0, count).map(([id, logprob]) => [logprob / scale - Math.log(sum), id, null]);
    return { text: '', output_ids: [top[0]![1]], meta_info: { output_top_logprobs: [top] } };
  }
}
