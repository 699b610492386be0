import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { FakeServer } from '../../test-support/fake-server.ts';

/** Answers of a real vLLM 0.32, right flags and wrong ones. */
export interface FakeVllm {
  root?: string;
  maxModelLen?: number;
  /** What it answers to a question for its models. */
  models?: object;
  /** What it answers to an adapter that has settings and no weights. */
  adapter?: { status: number; body: object };
  logprobs?: 'processed' | 'raw';
  tokenIds?: boolean;
  /** Whether it applies what the model's folder says of sampling. */
  modelDefaults?: boolean;
  info?: object;
  structured?: number;
}

export const failure = (status: number, message: string) => ({
  status,
  body: { error: { message, type: 'InternalServerError', param: null, code: status } },
});
const noTensors = failure(
  500,
  "Call to add_lora method failed: Worker failed with error '/a doesn't contain tensors'",
);

/** Serves until the test is over. */
export async function serve(fake: FakeVllm = {}): Promise<{ url: string; ranks: number[] }> {
  const ranks: number[] = [];
  const answer: Answer = (path, body) => {
    const { root = '/models/small', maxModelLen = 512, logprobs = 'processed', tokenIds = true } = fake;
    switch (path) {
      case '/v1/models':
        return {
          status: 200,
          body: fake.models ?? { data: [{ id: 'base', root, parent: null, max_model_len: maxModelLen }] },
        };
      case '/version':
        return { status: 200, body: { version: '0.32.0' } };
      case '/server_info?config_format=json':
        return fake.info === undefined
          ? { status: 404, body: { detail: 'Not Found' } }
          : { status: 200, body: fake.info };
      case '/tokenize':
        return { status: 200, body: { count: String(body.prompt).length } };
      case '/v1/load_lora_adapter': {
        const config = readFileSync(join(String(body.lora_path), 'adapter_config.json'), 'utf8');
        ranks.push((JSON.parse(config) as { r: number }).r);
        return fake.adapter ?? noTensors;
      }
      default: {
        if ('response_format' in body || 'structured_outputs' in body)
          return fake.structured === undefined
            ? { status: 200, body: {} }
            : failure(fake.structured, 'no such grammar');
        const isNeutral = 'top_p' in body || fake.modelDefaults !== true;
        const temperature = logprobs === 'processed' ? Number(body.temperature) : 1;
        const top = isNeutral ? -1 * temperature : -0.2;
        const ids = tokenIds ? { token_ids: [1], prompt_token_ids: [2] } : {};
        return {
          status: 200,
          body: { choices: [{ ...ids, logprobs: { top_logprobs: [{ a: top, b: top - 3 }] } }] },
        };
      }
    }
  };
  const server = await VllmWithFlags.start(answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { url: server.url, ranks };
}

type Answer = (path: string, body: Record<string, unknown>) => { status: number; body: object };

class VllmWithFlags extends FakeServer {
  readonly #answer: Answer;

  private constructor(answer: Answer) {
    super();
    this.#answer = answer;
  }

  static async start(answer: Answer): Promise<VllmWithFlags> {
    const server = new VllmWithFlags(answer);
    await server.listen();
    return server;
  }

  get url(): string {
    return `${this.origin}/v1`;
  }

  protected answer(path = '', body: Buffer, response: ServerResponse): void {
    const content = body.length === 0 ? {} : (JSON.parse(body.toString('utf8')) as Record<string, unknown>);
    const { status, body: answered } = this.#answer(path, content);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
  }
}
