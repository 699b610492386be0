import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { boundedFetch } from '../../src/async/bounded-fetch.ts';

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('waits for an answer as long as its signal says, and not for the 300 s of Node', async () => {
  const before = getGlobalDispatcher();
  onTestFinished(() => setGlobalDispatcher(before));
  setGlobalDispatcher(new Agent({ headersTimeout: 500, bodyTimeout: 500 }));
  const url = await serve(async (_, response) => {
    await pause(2_500);
    response.write('late ');
    await pause(2_500);
    response.end('answer');
  });
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } });
  const response = await boundedFetch(url);
  expect(await response.text()).toBe('late answer');
  await expect(boundedFetch(url, { signal: AbortSignal.timeout(300) })).rejects.toMatchObject({
    name: 'TimeoutError',
  });
});

test('sends method, headers and body, and answers without a body and errors keep their status', async () => {
  const url = await serve((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      response.statusCode = Number(request.headers['x-status']);
      response.end(response.statusCode === 204 ? undefined : `${request.method} ${body}`);
    });
  });
  const ask = (status: number) =>
    boundedFetch(url, { method: 'POST', headers: { 'x-status': String(status) }, body: 'question' });
  const answered = await ask(200);
  expect([answered.status, answered instanceof Response, await answered.text()]).toEqual([
    200,
    true,
    'POST question',
  ]);
  const empty = await ask(204);
  expect([empty.status, await empty.text()]).toEqual([204, '']);
  const failed = await ask(503);
  expect([failed.status, failed.ok, await failed.text()]).toEqual([503, false, 'POST question']);
});
