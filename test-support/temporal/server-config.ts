import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';
import { freePort } from '../free-port.ts';

/** Parts of the Temporal server's own configuration file that tests set. */
export interface ServerParts {
  /** Port of the frontend. */
  port: number;
  /** For what the server's services say to each other: `servicePorts()`. */
  ports: readonly number[];
  persistence: Record<string, unknown>;
  /** `tls` and `authorization` of the file's part `global`. */
  global?: Record<string, unknown> | undefined;
}

/** A change makes a database of an earlier server unreadable. */
const historyShards = 4;

/**
 * The configuration of a Temporal server whose services are one process on the loopback, as JSON, which is
 * YAML too.
 */
export function serverConfig(
  { port, ports, persistence, global }: ServerParts,
  dynamicConfigFile: string,
): string {
  const unused = [...ports];
  const service = (grpcPort = unused.pop()) => ({
    rpc: { grpcPort, membershipPort: unused.pop(), bindOnLocalHost: true },
  });
  return JSON.stringify({
    log: { stdout: true, level: 'error' },
    persistence: { ...persistence, numHistoryShards: historyShards },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' }, ...global },
    services: Object.fromEntries(
      servicesOf({ global }).map((name) => [name, name === 'frontend' ? service(port) : service()]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${port}`,
        },
      },
    },
    ...(global === undefined && { publicClient: { hostPort: `127.0.0.1:${port}` } }),
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamicConfigFile, pollInterval: '10s' },
  });
}

/**
 * The services of a server. Where clients need keys or certificates, its own parts have none: they use a
 * frontend that asks for none.
 */
export const servicesOf = ({ global }: Pick<ServerParts, 'global'>): string[] => [
  'frontend',
  ...(global === undefined ? [] : ['internal-frontend']),
  'history',
  'matching',
  'worker',
];

/** Free ports for the services of a server. */
export const servicePorts = (): Promise<number[]> => Promise.all(Array.from({ length: 9 }, freePort));

/** Persistence on PostgreSQL, in the two databases of infra/temporal/setup-schema.sh. */
export function onPostgresql(port: number, password: string, user: string): Record<string, unknown> {
  const store = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `127.0.0.1:${port}`,
      connectProtocol: 'tcp',
      user,
      password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  return {
    defaultStore: 'default',
    visibilityStore: 'visibility',
    datastores: { default: store('temporal', 16), visibility: store('temporal_visibility', 4) },
  };
}

/** Persistence in the memory of the server: it is lost with it. */
export function inMemory(): Record<string, unknown> {
  const sql = {
    pluginName: 'sqlite',
    databaseName: 'temporal',
    connectAddr: 'localhost',
    connectProtocol: 'tcp',
    connectAttributes: { mode: 'memory', cache: 'private' },
    maxConns: 1,
    maxIdleConns: 1,
    maxConnLifetime: '1h',
  };
  return {
    defaultStore: 'default',
    visibilityStore: 'default',
    datastores: { default: { sql } },
  };
}

/**
 * The dynamic configuration of infra/temporal, with these settings (`name=value`) in place of its own.
 */
export function dynamicConfig(settings: readonly string[]): string {
  const text = readFileSync(join(repository, 'infra/temporal/dynamic-config.yaml'), 'utf8');
  const values: Record<string, unknown> = {};
  for (const [, name, value] of text.matchAll(/^(\S+):\n +- value: (\S+)$/gm))
    values[name!] = JSON.parse(value!) as unknown;
  for (const setting of settings) {
    const at = setting.indexOf('=');
    values[setting.slice(0, at)] = JSON.parse(setting.slice(at + 1)) as unknown;
  }
  return JSON.stringify(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [{ value }]])),
  );
}
