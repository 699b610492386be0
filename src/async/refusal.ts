/** What servers for a few clients refuse, and how they tell who asks. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** An answer that is an error, with its HTTP status. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Refuses requests under a name that is not this server's: a page of another site can bind a name of its own to this
 * address.
 * @param hosts values of the Host header that are answered, in lower case
 * @throws Refusal 403
 */
export function requireHost({ headers }: IncomingMessage, hosts: Iterable<string>): void {
  if (![...hosts].includes(headers.host?.toLowerCase() ?? ''))
    throw new Refusal(403, 'this host name is not allowed (--allow-host)');
}

/** The token of `Authorization: Bearer TOKEN`; empty without one. */
export const bearerOf = ({ headers }: IncomingMessage): string =>
  /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';

/** Compares secrets in a time that says nothing about where they differ. */
export const isEqualSecret = (presented: string, expected: string): boolean =>
  timingSafeEqual(digest(presented), digest(expected));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The values of the Host header under which a server on a port of this machine is asked. */
export const loopbackHosts = (port: number): string[] =>
  ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
