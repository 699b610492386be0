import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createCompletionsClient } from '../../src/inference/completions-client.ts';
import { connectionProblem, shortReason } from '../../src/inference/outage-reason.ts';
import { ServerProblem } from '../../src/inference/policy-client.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { freePort } from '../../test-support/free-port.ts';

const request = {
  model: 'm',
  prompts: ['a'],
  n: 1,
  seed: 1,
  temperature: 1,
  maxTokens: 4,
};
async function problemAt(baseUrl: string, timeoutMs = 5_000): Promise<ServerProblem> {
  const client = createCompletionsClient({ baseUrl, apiKey: undefined, timeoutMs });
  const error: unknown = await client
    .complete(request, new AbortController().signal)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ServerProblem);
  return error as ServerProblem;
}

test('a port that nobody listens on: connection refused', async () => {
  const url = `http://127.0.0.1:${await freePort()}/v1`;
  expect(await problemAt(url)).toMatchObject({
    server: url,
    reason: 'connection refused',
    message: `${url} does not answer: connection refused`,
  });
});

test('a host that does not exist', async () => {
  expect((await problemAt('http://no-such-host.invalid/v1')).reason).toMatch(
    /^(unknown host|name resolution failed)$/,
  );
});

test('a server that hangs up', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect((await problemAt(`http://127.0.0.1:${port}/v1`)).reason).toMatch(/^connection (closed|reset)$/);
  server.close();
});

test('a server that answers with an error, with a missing model, too late', async () => {
  await using fake = await FakeModelServer.start({ model: () => 'x' });
  fake.nextFaults.push('server error', 'model not loaded', 'stall');
  expect((await problemAt(fake.url)).reason).toBe('answered 500 out of luck');
  expect((await problemAt(fake.url)).reason).toBe('answered 404 the model does not exist');
  expect((await problemAt(fake.url, 300)).reason).toBe('no answer in 0.3 s');
});

test('an unknown error by its innermost message, one line of bounded length', () => {
  expect(connectionProblem(new Error('outer', { cause: new Error('inner\n  line') }))).toBe('inner line');
  expect(shortReason('x'.repeat(500))).toHaveLength(300);
});
