import { APIError } from 'openai';
import { expect, test } from 'vitest';
import { toModelError } from '../../src/inference/model-errors.ts';
import { ModelUnavailable, PromptTooLong, RequestRefused } from '../../src/inference/policy-client.ts';

/** What a client makes of an answer with this status and this body. */
const errorOf = (status: number, body: object): unknown =>
  toModelError(
    APIError.generate(status, body, undefined, new Headers()),
    { baseUrl: 'http://127.0.0.1:1/v1', timeoutMs: 1_000 },
    'policy',
  );

const saying = (message: string, more: object = {}): object => ({ error: { message, ...more } });

test.each<[string, number, object]>([
  [
    'vLLM, of a prompt with its answer',
    400,
    saying(
      "This model's maximum context length is 4096 tokens. However, you requested 4500 tokens (3476 in the " +
        'messages, 1024 in the completion).',
    ),
  ],
  [
    'vLLM, of an answer that the prompt leaves no room for',
    400,
    saying(
      "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 1000 " +
        'tokens and your request has 500 input tokens (1024 > 1000 - 500).',
    ),
  ],
  ['vLLM, of a prompt longer than the context', 400, saying('max_tokens must be at least 1, got -12.')],
  ['SGLang', 400, saying("The input (24 tokens) is longer than the model's context length (24 tokens).")],
  [
    'llama.cpp',
    400,
    saying('the request exceeds the available context size, try increasing it', {
      code: 400,
      type: 'exceed_context_size_error',
    }),
  ],
  ['llama.cpp, whose status was once another', 500, saying('no room', { type: 'exceed_context_size_error' })],
  ["llama.cpp's Python server", 400, saying('Requested tokens (2285) exceed context window of 2048')],
  [
    'Text Generation Inference, of a prompt with its answer',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. ' +
        'Given: 1000 `inputs` tokens and 1024 `max_new_tokens`',
    },
  ],
  [
    'Text Generation Inference, of a prompt alone',
    422,
    { error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1872' },
  ],
  ['a server with the code of OpenAI', 400, saying('Too much.', { code: 'context_length_exceeded' })],
])('a question with its answer is too long by the words of %s', (_, status, body) => {
  expect(errorOf(status, body)).toBeInstanceOf(PromptTooLong);
});

test.each<[string, number, object, new (...args: never[]) => Error]>([
  [
    'a limit of the answer alone is a setting that fits no question',
    400,
    saying('max_tokens is too large: 100000. This model supports at most 4096 completion tokens.'),
    RequestRefused,
  ],
  ['any other refusal', 422, saying('temperature must be positive'), RequestRefused],
  ['a failure whose text speaks of lengths', 503, saying('maximum context length unknown'), ModelUnavailable],
])('%s is no question that is too long', (_, status, body, kind) => {
  expect(errorOf(status, body)).toBeInstanceOf(kind);
  expect(errorOf(status, body)).not.toBeInstanceOf(PromptTooLong);
});

test.each([401, 402, 403])('a key that is refused with %i is waited for: it can be replaced', (status) => {
  const error = errorOf(status, saying('Incorrect API key provided'));
  expect(error).toBeInstanceOf(ModelUnavailable);
  expect(error).toMatchObject({ reason: expect.stringContaining('it refuses the key: ') as string });
});
