import { createServer } from 'node:http';
import type { Server } from 'node:http';

/** Serves GET /health: 200 while every queue is polled (by name: `polling`), 503 otherwise. A process that is up but does not poll is not healthy. */
export function serveHealth(port: number, queues: () => Promise<Record<string, string>>): Promise<Server> {
  const server = createServer((request, response) => {
    void queues().then((workers) => {
      const healthy =
        Object.keys(workers).length > 0 && Object.values(workers).every((state) => state === 'polling');
      response.writeHead(request.url === '/health' ? (healthy ? 200 : 503) : 404, {
        'content-type': 'application/json',
      });
      response.end(JSON.stringify({ healthy, workers }));
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
