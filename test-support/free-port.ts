import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Linux takes ports of outgoing connections from above these, and well-known servers have lower ones. */
const first = 12_000;
const end = 32_000;

const taken = new Set<number>();

/**
 * A port of the loopback on which nothing listens, which no other call in this process gets. Outgoing
 * connections never take it, so a server that is started later, or is killed and started again, finds it free.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, end);
    if (taken.has(port)) continue;
    taken.add(port);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
