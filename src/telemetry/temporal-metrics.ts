import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { RuntimeOptions } from '@temporalio/worker';
import { boundedFetch } from '../async/bounded-fetch.ts';

type RuntimeTelemetry = NonNullable<RuntimeOptions['telemetryOptions']>;

export interface TemporalMetrics {
  /** For `Runtime.install`. */
  telemetryOptions: RuntimeTelemetry;
  /** What Temporal's runtime has counted, in Prometheus's text format. @throws if it does not answer */
  read: () => Promise<string>;
}

const READ_MS = 2_000;

/**
 * Lets Temporal's runtime serve its metrics on a port of the loopback that only this process is told: the
 * runtime can only serve them itself, and people scrape one port.
 */
export async function createTemporalMetrics(): Promise<TemporalMetrics> {
  const address = `127.0.0.1:${await freeLoopbackPort()}`;
  return {
    telemetryOptions: {
      metrics: {
        prometheus: {
          bindAddress: address,
          countersTotalSuffix: true,
          unitSuffix: true,
          useSecondsForDurations: true,
        },
      },
    },
    read: async () => {
      const response = await boundedFetch(`http://${address}/metrics`, {
        signal: AbortSignal.timeout(READ_MS),
      });
      return response.text();
    },
  };
}

async function freeLoopbackPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
