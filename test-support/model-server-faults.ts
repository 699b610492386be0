import type { ServerResponse } from 'node:http';

export interface Choice {
  index: number;
  text: string;
  finish_reason: string;
  token_ids?: number[];
  prompt_token_ids?: number[];
  logprobs?: { token_logprobs: number[] };
}

export interface Answer {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: Choice[];
  usage?: { completion_tokens: number };
}

/** What a server replies; a text stands for itself, anything else for its JSON. */
export interface Reply {
  status: number;
  body: string | object;
}

export const reply = (response: ServerResponse, { status, body }: Reply): void =>
  typeof body === 'string'
    ? send(response, status, body, { 'content-type': 'text/plain' })
    : send(response, status, JSON.stringify(body));

export const retryAfterSeconds = 7;

const send = (
  response: ServerResponse,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): void => {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    })
    .end(body);
};
const refuse = (
  response: ServerResponse,
  status: number,
  message: string,
  {
    headers = {},
    error = {},
  }: { headers?: Record<string, string>; error?: { param?: string; code?: string } } = {},
): void =>
  send(
    response,
    status,
    JSON.stringify({ error: { message, type: 'fake', param: null, code: null, ...error } }),
    headers,
  );
const answer = (response: ServerResponse, body: object): void => send(response, 200, JSON.stringify(body));

/** Sends the head and half of the body. */
function half(response: ServerResponse, body: Answer): void {
  const text = JSON.stringify(body);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
  });
  response.write(text.slice(0, text.length / 2));
}

const alterChoices = (body: Answer, alter: (choice: Choice) => object): object => ({
  ...body,
  choices: body.choices.map(alter),
});

/** Ways in which a model server fails, and `none`. */
export const faults = {
  none: answer,
  'too many requests': (response) =>
    refuse(response, 429, 'slow down', { headers: { 'retry-after': String(retryAfterSeconds) } }),
  'server error': (response) => refuse(response, 500, 'out of luck'),
  'bad request': (response) => refuse(response, 400, 'prompt: too long'),
  'model not loaded': (response) => refuse(response, 404, 'the model does not exist'),
  'model damaged': (response) =>
    refuse(response, 500, 'the model is damaged', {
      error: { param: '/store/objects/aa/weights', code: 'model_damaged' },
    }),
  /** Takes the request and never answers. */
  stall: () => undefined,
  'stall in the body': half,
  'cut stream': (response, body) => {
    half(response, body);
    setTimeout(() => response.destroy(), 5);
  },
  'garbage body': (response) => send(response, 200, '{"choices": [{"text": "T(a'),
  'a web page': (response) =>
    send(response, 200, '<html>Bad gateway</html>', { 'content-type': 'text/html' }),
  /** What vLLM answers for requests under way when it drops them. */
  aborted: (response, body) =>
    answer(
      response,
      alterChoices(body, (choice) => ({ ...choice, finish_reason: 'abort' })),
    ),
  'wrong schema': (response) => answer(response, { completions: ['T(a)'] }),
  'no token ids': (response, body) =>
    answer(
      response,
      alterChoices(body, ({ index, text, finish_reason }) => ({
        index,
        text,
        finish_reason,
        logprobs: null,
      })),
    ),
  'wrong model': (response, body) => answer(response, { ...body, model: 'agent@9999-000000000000' }),
  'a choice too few': (response, body) => answer(response, { ...body, choices: body.choices.slice(1) }),
  'a choice twice': (response, body) =>
    answer(
      response,
      alterChoices(body, (choice) => ({ ...choice, index: 0 })),
    ),
  'choices out of order': (response, body) =>
    answer(response, { ...body, choices: body.choices.toReversed() }),
  'too few log-probabilities': (response, body) =>
    answer(
      response,
      alterChoices(body, (choice) => ({ ...choice, logprobs: { token_logprobs: [] } })),
    ),
  'oversized answer': (response, body) =>
    answer(
      response,
      alterChoices(body, (choice) => ({
        ...choice,
        text: 'x'.repeat(1_000),
        token_ids: Array<number>(1_000).fill(120),
        logprobs: { token_logprobs: Array<number>(1_000).fill(-1) },
      })),
    ),
  'half a surrogate pair': (response, body) =>
    answer(
      response,
      alterChoices(body, (choice) => ({ ...choice, text: `\ud83d${choice.text}` })),
    ),
} satisfies Record<string, (response: ServerResponse, body: Answer) => void>;

export type Fault = keyof typeof faults;
