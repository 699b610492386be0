import { createServer } from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/cli/lib/connect.ts';

const [PERMISSION_DENIED, UNIMPLEMENTED] = ['7', '12'];

test('no connection is left open to a server that greets, and refuses everything else', async () => {
  const sessions = new Set<ServerHttp2Session>();
  let accepted = 0;
  const server = createServer()
    .on('session', (session) => {
      accepted += 1;
      sessions.add(session);
      session.on('close', () => sessions.delete(session));
    })
    .on('stream', (stream, { ':path': path = '' }) =>
      stream.respond(
        {
          'content-type': 'application/grpc',
          // A server of a version without this request is greeted all the same.
          'grpc-status': path.endsWith('GetSystemInfo') ? UNIMPLEMENTED : PERMISSION_DENIED,
        },
        { endStream: true },
      ),
    )
    .listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const settings = { connectionOptions: { address: `127.0.0.1:${port}` }, namespace: 'default' };
  await expect(connect(settings, { env: {} })).rejects.toThrow(
    `Temporal at 127.0.0.1:${port} cannot be used`,
  );
  expect(accepted).toBeGreaterThan(0);
  await expect.poll(() => sessions.size).toBe(0);
});
