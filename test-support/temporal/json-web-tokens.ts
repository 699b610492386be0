import { createSign, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs the API keys that a Temporal server with its default authorizer takes: JSON Web Tokens. */
export class TokenIssuer {
  readonly #kid: string;
  readonly #key: KeyObject;
  readonly #jwk: object;

  constructor(kid = 'test') {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    this.#kid = kid;
    this.#key = privateKey;
    this.#jwk = publicKey.export({ format: 'jwk' });
  }

  /** Writes the key set that the server reads. */
  writeKeySet(file: string): void {
    writeFileSync(
      file,
      JSON.stringify({ keys: [{ ...this.#jwk, kid: this.#kid, use: 'sig', alg: 'RS256' }] }),
    );
  }

  /** @param permissions such as `default:write`, or `temporal-system:admin` */
  issue(permissions: readonly string[], { seconds = 3600 } = {}): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: 'genenv-test', iat: now - 10, exp: now + seconds, permissions };
    const body = `${encode({ alg: 'RS256', typ: 'JWT', kid: this.#kid })}.${encode(claims)}`;
    return `${body}.${createSign('RSA-SHA256').update(body).sign(this.#key).toString('base64url')}`;
  }
}
