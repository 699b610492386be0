import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectivityState } from '@grpc/grpc-js';
import type { Client } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { searchAttributeKeys } from '../workflows/progress.ts';

/**
 * Watches whether the Temporal server is there, by the state of a connection of its own. A server that only
 * moves its clients on (as one with a maximum age of connections does) was not away: only an attempt to
 * connect that failed says so.
 */
export class ServerWatch {
  readonly #connection: Connection;
  #here = false;
  readonly #events = new EventEmitter();

  constructor(options: ConnectionOptions) {
    // Idle would be taken for lost, and a server that comes back is to be found soon.
    const channelArgs = {
      'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2_000,
    };
    this.#connection = Connection.lazy({
      ...options,
      channelArgs: { ...channelArgs, ...options.channelArgs },
    });
    this.#follow();
  }

  /** Resolves when the server is there (`true`) or away (`false`), at once where it is so. */
  async until(here: boolean): Promise<void> {
    while (this.#here !== here) await once(this.#events, 'change');
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #follow(): void {
    // Protected, but the only way to the state of a connection.
    const channel = (this.#connection as unknown as { client: Client }).client.getChannel();
    const state = channel.getConnectivityState(true);
    if (state === connectivityState.SHUTDOWN) return;
    if (state === connectivityState.READY) this.#now(true);
    if (state === connectivityState.TRANSIENT_FAILURE) this.#now(false);
    channel.watchConnectivityState(state, Infinity, () => this.#follow());
  }

  #now(here: boolean): void {
    if (here === this.#here) return;
    this.#here = here;
    this.#events.emit('change');
  }
}

/**
 * Tries until it works: a worker that gave up while its server is away would look alive and never poll.
 * @throws the signal's reason
 */
export async function untilPossible<T>(
  what: string,
  attempt: () => Promise<T>,
  { signal, say }: { signal: AbortSignal; say: (message: string) => void },
): Promise<T> {
  for (let wait = 200; ; wait = Math.min(5_000, wait * 2)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      say(`waiting for ${what}: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    }
  }
}

const indexedValueTypes: Record<string, number> = { KEYWORD: 2, INT: 3, DOUBLE: 4 };

/** Registers what the workflows upsert; false, and said, where this worker may not. */
export async function registerSearchAttributes(
  connection: NativeConnection,
  namespace: string,
  say: (message: string) => void,
): Promise<boolean> {
  const keys = Object.values(searchAttributeKeys);
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = keys.filter(({ name }) => customAttributes[name] === undefined);
    if (missing.length > 0) {
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(
          missing.map(({ name, type }) => [name, indexedValueTypes[type]!]),
        ),
      });
    }
    return true;
  } catch (error) {
    say(
      'runs without search attributes, which could not be registered: ' +
        `${error instanceof Error ? error.message : String(error)}`,
    );
    return false;
  }
}
