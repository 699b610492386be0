import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBoundedServer } from '../async/bounded-server.ts';

export interface MetricsAddress {
  host: string;
  /** 0 = any free one. */
  port: number;
}

/** Content type of Prometheus's text format. */
const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

/** Serves `GET /metrics`: what the parts answer, one after another. A part that fails is left out. */
export async function serveMetrics(
  { host, port }: MetricsAddress,
  parts: readonly (() => Promise<string>)[],
): Promise<{ url: string; server: Server }> {
  const isLocal = isLoopback(host);
  const server = createBoundedServer((request, response) => {
    // A web page that points a name of its own at the loopback sends that name.
    if (isLocal && !isLoopback(hostName(request.headers.host))) {
      response.writeHead(403).end();
      return;
    }
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    void Promise.all(parts.map((part) => part().catch(() => ''))).then((texts) => {
      response.writeHead(200, { 'content-type': TEXT_FORMAT });
      response.end(texts.filter((text) => text !== '').join('\n'));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new Error(`GENENV_METRICS_PORT: cannot listen on ${host}:${port} (${cause.message})`, { cause }),
      ),
    );
    server.listen(port, host, resolve);
  });
  const { port: chosen } = server.address() as AddressInfo;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${chosen}/metrics`, server };
}

const isLoopback = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host);

/** The name that a request was sent to, without port and brackets. */
const hostName = (header = ''): string => header.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
