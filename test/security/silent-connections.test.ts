import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createCodecServer } from '../../src/temporal/codec-server.ts';
import { EncryptionCodec } from '../../src/temporal/payload-codec.ts';
import { serveMetrics } from '../../src/telemetry/metrics-server.ts';
import { serveHealth } from '../../src/worker/health.ts';
import { keysOf, keyText } from '../temporal/some-keys.ts';

const servers: Record<string, () => Promise<{ server: Server; path: string }>> = {
  'health endpoint': async () => ({
    server: await serveHealth(0, () => Promise.resolve({ llm: 'polling' })),
    path: '/health',
  }),
  'metrics endpoint': async () => ({
    server: (await serveMetrics({ host: '127.0.0.1', port: 0 }, [])).server,
    path: '/metrics',
  }),
  'codec server': async () => {
    const codec = new EncryptionCodec(keysOf(keyText('a')));
    const server = createCodecServer({ codec, token: 'a', origins: [], hosts: [], encode: false });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, path: '/decode' };
  },
};
const countOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );

test.each(Object.keys(servers))('silent connections do not use up the %s, and are cut', async (name) => {
  const { server, path } = await servers[name]!();
  const { port } = server.address() as AddressInfo;
  const silent = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  onTestFinished(() => {
    for (const connection of silent) connection.destroy();
    server.close();
  });
  const left = (): number => silent.filter(({ destroyed }) => !destroyed).length;
  for (const connection of silent) connection.resume();
  await expect.poll(left, { timeout: 20_000 }).toBe(64);
  expect(await countOf(server)).toBe(64);
  const ask = (): Promise<number> =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ status }) => status,
      () => 0,
    );
  expect(await ask()).toBe(0);
  await expect.poll(left, { timeout: 20_000 }).toBe(0);
  await expect.poll(ask).toBeGreaterThan(0);
});
