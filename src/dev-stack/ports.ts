import { createServer } from 'node:net';

/** The first of the preferred ports that is free on the loopback interface, else any free one. */
export async function choosePort(preferred: readonly number[]): Promise<number> {
  for (const port of [...preferred, 0]) {
    const chosen = await tryPort(port);
    if (chosen !== null) return chosen;
  }
  throw new Error('ports: no free port was found on 127.0.0.1; end some of the programs that listen there');
}

/** The port if it can be listened on (for 0: the one that the system gave), else null. */
export function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
