import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

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
  const answer = (path: string, body: Record<string, unknown>): { status: number; body: object } => {
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
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString()));
    request.on('end', () => {
      const { status, body } = answer(
        request.url ?? '',
        text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      );
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, ranks };
}
