import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { search } from '../../src/benchmarks/bamboogle/search-endpoint.ts';
import { createChatClient } from '../../src/inference/chat-client.ts';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { createCaller } from '../../src/inference/server-calls.ts';

const apiKey = 'sk-canary-0815';

/** A server that answers each request with an error that repeats its headers. */
async function echo(status: number): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `refused: ${JSON.stringify(request.headers)}` } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const everything = (error: unknown): string =>
  error instanceof Error ? `${error.message} ${error.stack} ${everything(error.cause)}` : String(error);

test.each([400, 401, 429, 500])(
  'a key that a server repeats in an answer %i is in no error',
  async (status) => {
    const baseUrl = await echo(status);
    const server = { baseUrl, apiKey, timeoutMs: 5_000 };
    const { signal } = new AbortController();
    const request = { model: 'm', n: 1, seed: 1, temperature: 1, maxTokens: 4 };
    const messages = [{ role: 'user' as const, content: 'x' }];
    const attempts: [string, () => Promise<unknown>][] = [
      ['completions', () => createCompletionsClient(server).complete({ ...request, prompts: ['x'] }, signal)],
      ['chat', () => createChatClient(server).answer({ ...request, messages }, signal)],
      [
        'call',
        async () => Promise.reject(new Error((await createCaller(server)('/models', undefined)).text)),
      ],
      ['search', () => search({ url: baseUrl, key: apiKey }, 'x', signal)],
    ];
    for (const [what, attempt] of attempts) {
      const error: unknown = await attempt().then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (what === 'search' && status === 400) continue;
      expect(error, what).toBeInstanceOf(Error);
      expect(everything(error), what).toContain('refused');
      expect(everything(error), what).not.toContain(apiKey);
    }
  },
);
