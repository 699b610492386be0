import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Server } from 'node:http';
import { serveHealth } from '../../src/worker/health.ts';

let server: Server;
beforeEach(async () => {
  server = await serveHealth(0, () => Promise.resolve({ llm: 'polling' }));
});
afterEach(() => void server.close());

/** fetch sends no other host than the one that it connects to. */
const answerTo = (host: string, path = '/health'): Promise<{ status: number | undefined; text: string }> =>
  new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('end', () => resolve({ status: response.statusCode, text }));
    })
      .on('error', reject)
      .end();
  });

test.each(['127.0.0.1:8080', 'localhost', 'LOCALHOST:80', '[::1]:8080'])('%s is answered', async (host) => {
  expect(await answerTo(host)).toMatchObject({ status: 200 });
});

test.each([
  'evil.example',
  'evil.example:8080',
  '127.0.0.1.evil.example',
  'localhost@evil.example',
  '127.0.0.1:8080, a',
])('a page that calls this machine %s learns nothing', async (host) => {
  for (const path of ['/health', '/live']) {
    const answer = await answerTo(host, path);
    expect(answer.status).toBe(400);
    expect(answer.text).not.toMatch(/polling|live/);
  }
});

test('a worker that waits for Temporal is not healthy, but lives', async () => {
  const queues = vi.fn(() => Promise.resolve({ llm: 'the server does not answer: UNAVAILABLE' }));
  server.close();
  server = await serveHealth(0, queues);
  expect(await answerTo('localhost', '/live')).toEqual({ status: 200, text: '{"live":true}' });
  // Nobody was asked, who could take long to answer.
  expect(queues).not.toHaveBeenCalled();
  expect(await answerTo('localhost')).toMatchObject({ status: 503 });
  expect(await answerTo('localhost', '/other')).toMatchObject({ status: 404 });
});
