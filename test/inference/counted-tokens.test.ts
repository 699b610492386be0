import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_COUNTED_TOKENS } from '../../src/inference/answer-limits.ts';
import { createChatClient } from '../../src/inference/chat-client.ts';
import { parseAnswer } from '../../src/inference/completion-answers.ts';
import { InvalidAnswer, sampledTokens } from '../../src/inference/policy-client.ts';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';

const request: CompletionRequest = {
  model: 'm',
  prompts: ['a'],
  n: 3,
  seed: 1,
  temperature: 1,
  maxTokens: 8,
};
const answered = (tokens: number | undefined) =>
  parseAnswer(
    {
      model: 'm',
      choices: [0, 1, 2].map((index) => ({ index, text: 'x', finish_reason: 'stop' })),
      ...(tokens !== undefined && { usage: { completion_tokens: tokens } }),
    },
    request,
    { baseUrl: 'http://127.0.0.1:1/v1', returnsTokenIds: false },
  );

describe('tokens that a server counts itself', () => {
  it('are those of its answer, however many choices it has', () => {
    expect(answered(8).map(({ tokens }) => tokens)).toEqual([3, 3, 2]);
    expect(sampledTokens(answered(8))).toBe(8);
    expect(sampledTokens(answered(undefined))).toBe(0);
  });

  it('are no numbers whose sum would be none', async () => {
    expect(() => answered(Number.MAX_SAFE_INTEGER)).toThrow(InvalidAnswer);
    const body = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
      usage: { completion_tokens: 1, prompt_tokens: MAX_COUNTED_TOKENS + 1 },
    };
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const client = createChatClient({ baseUrl, apiKey: undefined, timeoutMs: 20_000 });
    const question = {
      model: 'm',
      messages: [{ role: 'user' as const, content: 'a' }],
      seed: 1,
      temperature: 1,
      maxTokens: 8,
    };
    await expect(client.answer(question, new AbortController().signal)).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:\d+\/v1: answer of m: usage\.prompt_tokens: /,
    );
  });
});
