import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { plainText } from '../../src/formats/plain-text.ts';
import { problemKind, rememberCollectorKeys } from '../../src/telemetry/collector.ts';
import { startTracing } from '../../src/telemetry/start-tracing.ts';
import { traced } from '../../src/telemetry/tracing.ts';

afterEach(() => vi.unstubAllEnvs());

/** Answers 401, with the key that it was sent as its reason and its body. */
async function echoingCollector(): Promise<string> {
  const server = createServer((socket) => {
    let request = '';
    socket
      .on('error', () => undefined)
      .on('data', (part) => {
        request += part.toString('latin1');
        const key = /authorization: (.*)\r/i.exec(request)?.[1];
        if (key === undefined) return;
        socket.end(
          `HTTP/1.1 401 no such key ${key}\r\nconnection: close\r\ncontent-length: ${key.length}\r\n\r\n${key}`,
        );
      });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a collector that repeats its key has it in no line of the log', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', await echoingCollector());
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', `authorization=${encodeURIComponent('Bearer zc-canary-0123')}`);
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '10');
  const said: string[] = [];
  const tracing = startTracing((line) => said.push(line), process.env);
  await traced('x', {}, () => Promise.resolve());
  await expect.poll(() => said, { timeout: 20_000 }).toHaveLength(1);
  await tracing.close();
  expect(said).toEqual(['traces: some spans are lost: OTLPExporterError 401']);
});

test('its key is taken out of every text', () => {
  rememberCollectorKeys({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20zd%2Dcanary-1,api-key=ze-canary, tenant=genenv',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-honeycomb-team=zf-canary-0123456=, broken=%',
  });
  expect(plainText('zd-canary-1, ze-canary and zf-canary-0123456= of genenv')).toBe(
    '(key), (key) and (key) of genenv',
  );
});

test.each([
  [JSON.stringify({ name: 'Error', code: 'ECONNREFUSED', message: 'secret' }), 'Error ECONNREFUSED'],
  [JSON.stringify({ name: 'OTLPExporterError', code: 'got Bearer secret' }), 'OTLPExporterError'],
  ['export request failure (error: secret)', 'a problem of OpenTelemetry'],
  ['null', 'a problem of OpenTelemetry'],
])('of a problem its kind alone is said: %s', (problem, kind) => {
  expect(problemKind(problem)).toBe(kind);
});
