import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectivityState } from '@grpc/grpc-js';
import type { Client } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { directIfLocal } from '../temporal/direct-connection.ts';
import { searchAttributeKeys } from '../workflows/progress.ts';

/**
 * Watches whether the Temporal server is reachable, by the state of a connection of its own. A server that
 * closes connections of a certain age stays reachable: only a failed attempt to connect says otherwise.
 */
export class ServerWatch {
  readonly #connection: Connection;
  #isReachable = false;
  readonly #events = new EventEmitter();

  constructor(options: ConnectionOptions) {
    // An idle connection would look lost, and a server that is back has to be noticed soon.
    const channelArgs = {
      'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2_000,
    };
    this.#connection = Connection.lazy({
      ...options,
      channelArgs: { ...channelArgs, ...directIfLocal(options).channelArgs },
    });
    this.#follow();
  }

  /** Resolves when the server is reachable (`true`) or not (`false`), at once if that is so already. */
  async until(isReachable: boolean): Promise<void> {
    while (this.#isReachable !== isReachable) await once(this.#events, 'change');
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #follow(): void {
    // A protected field, but the only way to the state of a connection.
    const channel = (this.#connection as unknown as { client: Client }).client.getChannel();
    const state = channel.getConnectivityState(true);
    if (state === connectivityState.SHUTDOWN) return;
    if (state === connectivityState.READY) this.#update(true);
    if (state === connectivityState.TRANSIENT_FAILURE) this.#update(false);
    channel.watchConnectivityState(state, Infinity, () => this.#follow());
  }

  #update(isReachable: boolean): void {
    if (isReachable === this.#isReachable) return;
    this.#isReachable = isReachable;
    this.#events.emit('change');
  }
}

interface Attempts {
  signal: AbortSignal;
  say: (message: string) => void;
  /** Says what a failure means; its message by default. */
  explain?: (error: unknown) => Promise<string>;
}

/**
 * Retries until it succeeds: a worker that gave up while its server is away would look alive and never poll.
 * @throws the signal's reason
 */
export async function untilPossible<T>(
  what: string,
  attempt: () => Promise<T>,
  { signal, say, explain = (error) => Promise.resolve(messageOf(error)) }: Attempts,
): Promise<T> {
  for (let wait = 200; ; wait = Math.min(5_000, wait * 2)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      say(`waiting for ${what}: ${await explain(error)}`);
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Connects, and asks for the namespace: a server may greet whoever comes, and refuse everything else. */
export async function connectTo(
  namespace: string,
  options: NativeConnectionOptions,
): Promise<NativeConnection> {
  const connection = await NativeConnection.connect(options);
  try {
    await connection.workflowService.describeNamespace({ namespace });
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

const apiKeyPollMs = 10_000;

/** Uses the API key that its file holds, from when it is replaced on. A file that cannot be read changes nothing. */
export function followApiKey(
  connection: NativeConnection,
  readApiKey: () => string,
  { signal, say }: Pick<Attempts, 'signal' | 'say'>,
): void {
  let used = readApiKey();
  const follow = async (): Promise<void> => {
    try {
      const read = readApiKey();
      if (read === used) return;
      await connection.setApiKey(read);
      used = read;
      say('the API key for Temporal was replaced');
    } catch (error) {
      say(`the API key for Temporal stays as it is: ${messageOf(error)}`);
    }
  };
  const timer = setInterval(() => void follow(), apiKeyPollMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

const indexedValueTypes: Record<string, number> = { KEYWORD: 2, INT: 3, DOUBLE: 4 };

/** Registers the search attributes that workflows upsert; false, with a message, if that is not permitted. */
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
    say(`runs without search attributes, which could not be registered: ${messageOf(error)}`);
    return false;
  }
}
