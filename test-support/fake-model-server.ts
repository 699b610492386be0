import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deriveSeed, randomStream } from '../src/numerics/random.ts';
import type { RandomStream } from '../src/numerics/random.ts';
import { historyFault } from './chat-history.ts';
import type { WireMessage } from './chat-history.ts';
import { faults } from './model-server-faults.ts';
import type { Answer, Choice, Fault } from './model-server-faults.ts';

/** A request as it came over the wire. */
export interface ReceivedRequest {
  model: string;
  prompt: string[] | number[][];
  n: number;
  seed: number;
  temperature: number;
  max_tokens: number;
  logprobs?: number;
  return_token_ids?: boolean;
  response_format?: object;
}

/**
 * What stands in for a language model: the text that follows a prompt, drawn from the stream and nothing
 * else. `schema` where the request holds it to one.
 */
export type FakeModel = (prompt: string, random: RandomStream, model: string, schema?: object) => string;

export interface ReceivedChat {
  model: string;
  messages: WireMessage[];
  seed: number;
  temperature: number;
  max_tokens: number;
  stop?: string[];
  tools?: { function: { name: string } }[];
  response_format?: object;
}

/** Calls of tools, by a server that parses them itself. */
export type FakeCalls = { calls: { name: string; arguments: string }[] };
/** What a chat answers; a number is the status of an error. */
export type FakeChat = (
  messages: ReceivedChat['messages'],
  random: RandomStream,
  request: ReceivedChat,
) => string | FakeCalls | number;

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
}

/**
 * A model server that costs nothing: the OpenAI API with vLLM's extensions, as `/v1/completions` of the real
 * one speaks it (docs/policy-server.md), answering at once. A character is a token, 0 is the end of a text;
 * equal requests have equal answers.
 */
export class FakeModelServer implements AsyncDisposable {
  /** Every request, in the order of arrival, failed ones too. */
  readonly requests: ReceivedRequest[] = [];
  /** Every question of a chat. */
  readonly chats: ReceivedChat[] = [];
  /** Faults that the next requests meet, one each, before any by chance. */
  readonly nextFaults: (Fault | undefined)[] = [];
  readonly #options: FakeModelServerOptions;
  readonly #server: Server;
  readonly #attempts = new Map<string, number>();

  private constructor(options: FakeModelServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) =>
        response.destroy(error instanceof Error ? error : undefined),
      );
    });
  }

  static async start(options: FakeModelServerOptions, port = 0): Promise<FakeModelServer> {
    const fake = new FakeModelServer(options);
    await new Promise<void>((resolve, reject) =>
      fake.#server.once('error', reject).listen(port, '127.0.0.1', resolve),
    );
    return fake;
  }

  /** Base URL for an OpenAI client. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Refuses connections, as a server whose process has ended. @returns what brings it back, on the same port */
  async goAway(): Promise<() => Promise<void>> {
    const { port } = this.#server.address() as AddressInfo;
    await this[Symbol.asyncDispose]();
    return () =>
      new Promise((resolve, reject) =>
        this.#server.once('error', reject).listen(port, '127.0.0.1', () => resolve()),
      );
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return void response.writeHead(request.url === '/health' ? 200 : 404).end();
    const { chat } = this.#options;
    const isChat = request.url === '/v1/chat/completions' && chat !== undefined;
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const body = Buffer.concat(parts);
    if (request.url === '/tokenize') {
      const { prompt } = JSON.parse(body.toString('utf8')) as { prompt: string };
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ tokens: tokensOf(prompt), count: prompt.length, max_model_len: null }));
    }
    if (isChat) {
      const question = JSON.parse(body.toString('utf8')) as ReceivedChat;
      this.chats.push(question);
      const refused = historyFault(question.messages);
      if (refused !== null)
        return void response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: refused } }));
      const said = chat(question.messages, randomStream(question.seed), question);
      if (typeof said === 'number')
        return void response.writeHead(said, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            error: {
              message: 'as the test wants it',
              ...(said === 400 && { code: 'context_length_exceeded' }),
            },
          }),
        );
      const full = typeof said === 'string' ? said : '';
      const content = full.slice(0, question.max_tokens);
      const calls =
        typeof said === 'string'
          ? {}
          : {
              tool_calls: said.calls.map((call, index) => ({
                id: `call_${index}`,
                type: 'function',
                function: call,
              })),
              content: null,
            };
      const answer = {
        id: 'chat-fake',
        object: 'chat.completion',
        created: 0,
        model: question.model,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content, ...calls },
            finish_reason: content.length < full.length ? 'length' : 'stop',
          },
        ],
        usage: { prompt_tokens: 0, completion_tokens: content.length, total_tokens: content.length },
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    if (request.url !== '/v1/completions') return void response.writeHead(404).end();
    const received = JSON.parse(body.toString('utf8')) as ReceivedRequest;
    if (this.#options.keepRequests !== false) this.requests.push(received);
    const fault = this.nextFaults.length > 0 ? this.nextFaults.shift() : this.#faultByChance(body);
    faults[fault ?? 'none'](response, answerTo(received, this.#options.model));
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

function answerTo(request: ReceivedRequest, model: FakeModel): Answer {
  const choices = request.prompt.flatMap((input: string | number[], row) => {
    const prompt_token_ids = typeof input === 'string' ? tokensOf(input) : input;
    const prompt = typeof input === 'string' ? input : String.fromCharCode(...input);
    return Array.from({ length: request.n }, (_, sample): Choice => {
      const random = randomStream(deriveSeed(request.seed, row, sample));
      const text = model(prompt, random, request.model, request.response_format);
      const tokens = [...tokensOf(text), 0];
      const token_ids = tokens.slice(0, request.max_tokens);
      return {
        index: row * request.n + sample,
        text: text.slice(0, request.max_tokens),
        finish_reason: token_ids.length < tokens.length ? 'length' : 'stop',
        ...(request.logprobs === undefined
          ? {}
          : { logprobs: { token_logprobs: token_ids.map(() => -Math.round(random.next() * 1e4) / 1e4) } }),
        ...(request.return_token_ids === true ? { token_ids, prompt_token_ids } : {}),
      };
    });
  });
  return { id: 'cmpl-fake', object: 'text_completion', created: 0, model: request.model, choices };
}

function tokensOf(text: string): number[] {
  const ids = new Array<number>(text.length);
  for (let index = 0; index < text.length; index++) ids[index] = text.charCodeAt(index);
  return ids;
}
