import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../infra/setup/run-command.mjs';

/** Files of a certificate in PEM, and of its key. */
export interface Certificate {
  certificate: string;
  key: string;
}

/** What makes keys of elliptic curves: a thousandth of the time of RSA. */
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A certificate authority of a test, made with openssl. */
export class Authority {
  readonly #folder: string;
  readonly files: Certificate;

  private constructor(folder: string, files: Certificate) {
    this.#folder = folder;
    this.files = files;
  }

  /** @param folder is made */
  static async create(folder: string): Promise<Authority> {
    mkdirSync(folder, { recursive: true });
    const files = { certificate: join(folder, 'ca.pem'), key: join(folder, 'ca.key') };
    await run('openssl', [
      ...['req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=Authority of a test'],
      ...['-addext', 'keyUsage=critical,keyCertSign', '-keyout', files.key, '-out', files.certificate],
    ]);
    return new Authority(folder, files);
  }

  /** A certificate for a host of the loopback, and for its clients. @param days negative for one that has expired */
  async issue(name: string, { days = 1, host = 'localhost' } = {}): Promise<Certificate> {
    const path = (ending: string): string => join(this.#folder, `${name}.${ending}`);
    const files = { certificate: path('pem'), key: path('key') };
    await run('openssl', [
      ...['req', '-new', ...newKey, '-subj', `/CN=${name}`, '-keyout', files.key, '-out', path('csr')],
    ]);
    const address = host === 'localhost' ? ',IP:127.0.0.1' : '';
    writeFileSync(
      path('ext'),
      `subjectAltName=DNS:${host}${address}\nextendedKeyUsage=serverAuth,clientAuth\n`,
    );
    await run('openssl', [
      ...['x509', '-req', '-in', path('csr'), '-CA', this.files.certificate, '-CAkey', this.files.key],
      ...['-CAcreateserial', '-days', String(days), '-extfile', path('ext'), '-out', files.certificate],
    ]);
    return files;
  }
}
