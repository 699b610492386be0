import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';

const MAX_CONNECTIONS = 64;
const HEADERS_MS = 5_000;
const REQUEST_MS = 20_000;
/** Node looks only every 30 s for connections that have not sent their headers in time. */
const CHECK_MS = 1_000;

/**
 * An HTTP server for a few clients. Connections that say nothing are cut, and there are never enough of them to take
 * the files or the memory of this process.
 */
export function createBoundedServer(listener: RequestListener): Server {
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS },
    listener,
  );
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}
