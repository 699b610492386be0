import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEmbeddingClient } from '../../src/inference/embedding-client.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';

const never = new AbortController().signal;
const timeoutMs = 60_000;

const embedding = (text: string): number[] | null => (text.length > 10 ? null : [text.length, 1]);

async function startServer() {
  const server = await FakeModelServer.start({ model: () => 'never', embedding });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, client: createEmbeddingClient({ baseUrl: server.url, apiKey: undefined, timeoutMs }) };
}

it('gives vectors in the order of the texts, whatever the order of the answer', async () => {
  const { client, server } = await startServer();
  await expect(client.embed({ model: 'm', texts: ['a', 'bbb', 'cc'] }, never)).resolves.toEqual({
    vectors: [
      [1, 1],
      [3, 1],
      [2, 1],
    ],
    promptTokens: 6,
  });
  expect(server.embeddingRequests).toMatchObject([{ model: 'm', input: ['a', 'bbb', 'cc'] }]);
});

it('asks for each text alone if one of them is too long, which has no vector', async () => {
  const { client, server } = await startServer();
  const texts = ['a', 'much too long a text', 'cc'];
  await expect(client.embed({ model: 'm', texts }, never)).resolves.toEqual({
    vectors: [[1, 1], undefined, [2, 1]],
    promptTokens: 3,
  });
  expect(server.embeddingRequests.map(({ input }) => input.length)).toEqual([3, 1, 1, 1]);
});

it('sends half of a surrogate pair as a text that is one', async () => {
  const { client, server } = await startServer();
  await client.embed({ model: 'm', texts: ['a\ud800'] }, never);
  expect(server.embeddingRequests[0]!.input).toEqual(['a\ufffd']);
});

it('waits for a server that is away', async () => {
  const { client, server } = await startServer();
  server.nextFaults.push('server error');
  await expect(client.embed({ model: 'm', texts: ['a'] }, never)).rejects.toMatchObject({
    name: 'ModelUnavailable',
  });
});

describe('an answer that cannot be used', () => {
  const vector = (index: unknown, values: unknown) => ({ index, embedding: values });

  it.each([
    ['too few vectors', [vector(0, [1, 2])], 'got 1; expected 2, one of each text'],
    ['a text twice', [vector(0, [1, 2]), vector(0, [1, 2])], 'got 2; expected 2, one of each text'],
    ['a text that was not asked for', [vector(0, [1]), vector(2, [1])], 'expected 2, one of each text'],
    ['vectors of different lengths', [vector(0, [1]), vector(1, [1, 2])], 'different lengths, or of zeros'],
    ['a vector of zeros', [vector(0, [0, 0]), vector(1, [1, 2])], 'different lengths, or of zeros'],
    ['no numbers', [vector(0, []), vector(1, [])], 'different lengths, or of zeros'],
    ['numbers whose squares are infinite', [vector(0, [1e200]), vector(1, [1])], 'data.0.embedding.0'],
    ['texts for numbers', [vector(0, ['1']), vector(1, ['2'])], 'data.0.embedding.0'],
    ['more numbers than any model has', [vector(0, Array(70_000).fill(1)), vector(1, [1])], 'values'],
  ])('such as %s is named', async (_, data, message) => {
    const body = JSON.stringify({ data });
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const client = createEmbeddingClient({ baseUrl, apiKey: undefined, timeoutMs });
    await expect(client.embed({ model: 'm', texts: ['a', 'b'] }, never)).rejects.toMatchObject({
      name: 'InvalidAnswer',
      message: expect.stringContaining(message) as string,
    });
  });
});
