import { isIP } from 'node:net';
import { loopbackHosts } from '../async/refusal.ts';

/** What listens on all addresses of a machine is asked under none of these. */
const wildcards = ['0.0.0.0', '::'];

/** The names that a server which listens on a host and a port is asked under. */
export interface ListenNames {
  /** Values of the Host header, in lower case. */
  hosts: string[];
  /** The one to print. */
  shown: string;
}

/** @param allowed other names, as `name:port`: of what listens on all addresses, the first one is printed */
export function listenNames(host: string, port: number, allowed: readonly string[]): ListenNames {
  const own = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const isWildcard = wildcards.includes(host);
  return {
    hosts: [...loopbackHosts(port), ...(isWildcard ? [] : [own]), ...allowed].map((name) =>
      name.toLowerCase(),
    ),
    shown: isWildcard ? (allowed[0] ?? `127.0.0.1:${port}`) : own,
  };
}
