import { createServer } from 'node:http';
import type { Server } from 'node:http';

/** Serves GET /health: 200 while every worker polls, 503 otherwise. A process that is up but does not poll is not healthy. */
export function serveHealth(port: number, states: () => Record<string, string>): Promise<Server> {
  const server = createServer((request, response) => {
    const current = states();
    const healthy = Object.keys(current).length > 0 && Object.values(current).every((state) => state === 'RUNNING');
    response.writeHead(request.url === '/health' ? (healthy ? 200 : 503) : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ healthy, workers: current }));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
