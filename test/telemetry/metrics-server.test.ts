import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { serveMetrics } from '../../src/telemetry/metrics-server.ts';
import { errorLabel } from '../../src/telemetry/metrics.ts';

async function serve(...parts: (() => Promise<string>)[]): Promise<string> {
  const { url, server } = await serveMetrics({ host: '127.0.0.1', port: 0 }, parts);
  onTestFinished(() => void server.close());
  return url;
}

const statusWithHost = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end();
  });

test('the parts are one text, and one that fails is left out', async () => {
  const url = await serve(
    () => Promise.resolve('a 1\n'),
    () => Promise.reject(new Error('away')),
    () => Promise.resolve('b 2\n'),
  );
  const answer = await fetch(url);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect((await answer.text()).split('\n').filter((line) => line !== '')).toEqual(['a 1', 'b 2']);
});

test('nothing else is answered, and no page of another name', async () => {
  const url = await serve(() => Promise.resolve('a 1\n'));
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(404);
  const { port } = new URL(url);
  for (const host of ['evil.example', `127.0.0.1.evil.example:${port}`])
    expect(await statusWithHost(url, host), host).toBe(403);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, '[::1]:1'])
    expect(await statusWithHost(url, host), host).toBe(200);
});

test('a port that is taken is named', async () => {
  const { port } = new URL(await serve());
  await expect(serveMetrics({ host: '127.0.0.1', port: Number(port) }, [])).rejects.toThrow(
    `GENENV_METRICS_PORT: cannot listen on 127.0.0.1:${port}`,
  );
});

test('names of errors as labels are bounded', () => {
  class Odd extends Error {
    constructor(name: string) {
      super();
      this.name = name;
    }
  }
  expect(errorLabel(new TypeError('x'))).toBe('TypeError');
  expect(errorLabel('x')).toBe('unknown');
  expect(errorLabel(new Odd('prompt: solve "this"'))).toBe('other');
  const labels = new Set(Array.from({ length: 500 }, (_, index) => errorLabel(new Odd(`E${index}`))));
  expect(labels.size).toBeLessThan(70);
  expect(labels).toContain('other');
});
