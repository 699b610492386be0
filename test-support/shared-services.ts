import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { LiveStack } from './live-stack.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Answers with the SharedServices; the first question starts them. */
    sharedServices: string;
  }
}

/**
 * Vitest's global setup: one Temporal server, policy server and trainer for all suites, started if one asks.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let stack: Promise<LiveStack> | undefined;
  const server = createServer((_, response) => {
    stack ??= LiveStack.start();
    stack.then(
      ({ services }) => response.end(JSON.stringify(services)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  project.provide('sharedServices', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    await (await stack)?.[Symbol.asyncDispose]();
  };
}
