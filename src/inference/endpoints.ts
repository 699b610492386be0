/** Which servers this worker speaks to, and with which keys: by the list of its operator alone. */
import { readEndpoints } from '../config/endpoints.ts';
import type { Endpoint, EndpointList, EndpointsSource } from '../config/endpoints.ts';
import { readSecret, readSecretFile } from '../config/secrets.ts';
import { endpointOf } from '../validation/server-address.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { shortReason } from './outage-reason.ts';
import { ModelUnavailable } from './policy-client.ts';

/** What a file says of a server. */
export interface ServerReference {
  /** Addresses, or `endpoint:NAME`. */
  baseUrl: string | readonly string[];
  apiKeyEnv: string | null;
}

/** A server that the worker may speak to. */
export interface PermittedServer {
  baseUrl: string;
  apiKey: string | undefined;
}

/**
 * The servers that a file names, at least one.
 * @throws EndpointRefused; for a list or a key that cannot be read InvalidConfig to a command, ModelUnavailable in a
 * worker; InvalidConfig for a key variable beside `endpoint:NAME`, which only the file can correct
 */
export type ResolveServers = (reference: ServerReference) => PermittedServer[];

/**
 * The operator of the worker has not permitted a server. Runs wait, as for a server that is away: nothing of
 * theirs is lost until the list is corrected.
 */
export class EndpointRefused extends ModelUnavailable {
  constructor(address: string, reason: string) {
    super(`${shown(address)}: ${reason}`, { server: shown(address), reason });
  }
}

/** As a suite asks for a server: its first address, or why this worker may not ask it. */
export const permitServer =
  (resolve: ResolveServers) =>
  (baseUrl: string, apiKeyEnv: string | null): PermittedServer | { refused: string } => {
    try {
      return resolve({ baseUrl, apiKeyEnv })[0]!;
    } catch (error) {
      if (error instanceof EndpointRefused) return { refused: error.message };
      throw error;
    }
  };

/** Reads what the operator has written. @param what it is, for people */
type ReadSetting = <Value>(what: string, read: () => Value) => Value;

/**
 * A setting of the operator as it is now, in a worker. While it is wrong it is waited for, as a server that is away:
 * whoever runs the worker can mend it, and whoever started the run cannot.
 * @param what is waited for, for people
 * @throws ModelUnavailable
 */
export const readOperatorSetting: ReadSetting = (what, read) => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    const reason = shortReason(error.message);
    throw new ModelUnavailable(`${what}: ${reason}`, { cause: error, server: what, reason });
  }
};

/** For a command, whose user can mend what is wrong. */
export const serverResolver = (source: EndpointsSource, environment: NodeJS.ProcessEnv): ResolveServers =>
  createResolver(source, environment, (_, read) => read());

/** For a worker: its runs wait until its operator has mended what is wrong. */
export const workerResolver = (source: EndpointsSource, environment: NodeJS.ProcessEnv): ResolveServers =>
  createResolver(source, environment, readOperatorSetting);

/** The list, and the keys that it names, are read at each call, so a change needs no restart. */
function createResolver(
  source: EndpointsSource,
  environment: NodeJS.ProcessEnv,
  readSetting: ReadSetting,
): ResolveServers {
  return ({ baseUrl, apiKeyEnv }) => {
    const list = readSetting("the operator's list of endpoints", () => readEndpoints(source));
    const keyOf = (endpoint: Endpoint, address: string): string | undefined =>
      readSetting(`the key of ${shown(address)}`, () => readKey(endpoint, address, environment));
    return [baseUrl].flat().flatMap((address) => {
      const name = endpointOf(address);
      if (name !== undefined) {
        const endpoint = namedEndpoint(list, name, apiKeyEnv);
        const apiKey = keyOf(endpoint, address);
        return [endpoint.baseUrl].flat().map((url) => ({ baseUrl: url, apiKey }));
      }
      const endpoint = endpointAt(list, address, apiKeyEnv);
      if (endpoint !== undefined) return [{ baseUrl: address, apiKey: keyOf(endpoint, address) }];
      if (apiKeyEnv === null && list.addresses.some((pattern) => matchesOrigin(pattern, address)))
        return [{ baseUrl: address, apiKey: undefined }];
      const key = apiKeyEnv === null ? '' : ` with the key ${apiKeyEnv}`;
      throw new EndpointRefused(
        address,
        `the list of this worker does not permit it${key}: \`${permitCommand(address, apiKeyEnv)}\` adds it`,
      );
    });
  };
}

function namedEndpoint({ endpoints }: EndpointList, name: string, apiKeyEnv: string | null): Endpoint {
  if (apiKeyEnv !== null)
    throw new InvalidConfig(
      `apiKeyEnv: got ${JSON.stringify(apiKeyEnv)} with endpoint:${name}; expected null, since the endpoint has its key`,
    );
  if (Object.hasOwn(endpoints, name)) return endpoints[name]!;
  throw new EndpointRefused(
    `endpoint:${name}`,
    `the list of this worker has no endpoint ${name}: \`genenv endpoints add ${name} URL\` adds it`,
  );
}

/** The endpoint that an address belongs to, and that asks for the same key. */
const endpointAt = (
  { endpoints }: EndpointList,
  address: string,
  apiKeyEnv: string | null,
): Endpoint | undefined =>
  Object.values(endpoints).find(
    (endpoint) =>
      (endpoint.apiKeyEnv ?? null) === apiKeyEnv &&
      endpoint.apiKeyFile === undefined &&
      [endpoint.baseUrl].flat().some((url) => isBelow(url, address)),
  );

/** Whether an address is that of an endpoint, or a path below it without escapes and parameters. */
function isBelow(endpoint: string, address: string): boolean {
  const [listed, target] = [new URL(endpoint), new URL(address)];
  const path = listed.pathname.replace(/\/$/, '');
  const rest = target.pathname.slice(path.length);
  // `..%2F`, `%252e%252e/` and `..;/` are the way up to some servers.
  const isPlain = path === '' || !/[%;]/.test(rest);
  return (
    listed.origin === target.origin && target.pathname.startsWith(path) && /^(?:\/|$)/.test(rest) && isPlain
  );
}

function readKey(
  { apiKeyEnv, apiKeyFile }: Endpoint,
  address: string,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  if (apiKeyFile !== undefined) return readSecretFile(apiKeyFile, 'endpoints: apiKeyFile');
  if (apiKeyEnv === undefined) return undefined;
  const key = readSecret(environment, apiKeyEnv);
  if (key !== undefined) return key;
  const reason = `its key is missing: neither ${apiKeyEnv} nor ${apiKeyEnv}_FILE is set on this worker`;
  throw new EndpointRefused(address, reason);
}

/** The command with which the operator permits a server. */
const permitCommand = (address: string, apiKeyEnv: string | null): string =>
  apiKeyEnv === null
    ? `genenv endpoints allow ${originOf(address)}`
    : `genenv endpoints add NAME ${originOf(address)} --key-env ${apiKeyEnv}`;

const originOf = (address: string): string => new URL(address).origin;

/** Whether a pattern of the list, an origin whose port may be `*`, permits an address. */
function matchesOrigin(pattern: string, address: string): boolean {
  if (!pattern.endsWith(':*')) return originOf(pattern) === originOf(address);
  const { protocol, hostname } = new URL(address);
  const wanted = new URL(pattern.slice(0, -2));
  return wanted.protocol === protocol && wanted.hostname === hostname;
}

/** An address without what may be secret in it: path, query and fragment. */
const shown = (address: string): string => (endpointOf(address) === undefined ? originOf(address) : address);
