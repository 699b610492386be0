import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { Authority } from '../../test-support/temporal/certificates.ts';
import type { Certificate } from '../../test-support/temporal/certificates.ts';
import { TokenIssuer } from '../../test-support/temporal/json-web-tokens.ts';
import { SecuredServer } from '../../test-support/temporal/secured-server.ts';
import { TestProcess, until } from '../../test-support/processes.ts';
import { readConnectionSettings } from '../../src/temporal/connection-settings.ts';
import { genenv } from '../cli/genenv-process.ts';

/** TLS, certificates and API keys, on a real Temporal server: a command says what is wrong and what to do. */

const minutes = 60_000;
type Environment = Record<string, string>;

let folder: string;
let stranger: Authority;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-secured-'));
  stranger = await Authority.create(join(folder, 'stranger'));
}, minutes);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const presenting = ({ certificate, key }: Certificate): Environment => ({
  TEMPORAL_TLS_CLIENT_CERT_PATH: certificate,
  TEMPORAL_TLS_CLIENT_KEY_PATH: key,
});
/** By name, which the server's certificate has. */
const reaching = ({ address, authority }: SecuredServer): Environment => ({
  TEMPORAL_ADDRESS: address.replace('127.0.0.1', 'localhost'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority.files.certificate,
});
const cancel = (environment: Environment) =>
  genenv(['cancel', 'my-run'], { GENENV_HOME: join(folder, 'home'), ...environment });

/** A worker of the project's own, beside others of this test. */
function startWorker(name: string, environment: Environment, queues = ['--queues', 'cpu']): TestProcess {
  const home = join(folder, name);
  return new TestProcess(process.execPath, [join(repository, 'src/worker.ts'), ...queues], {
    env: { ...process.env, GENENV_HOME: home, ...environment },
    cwd: repository,
    log: join(folder, `${name}.log`),
  });
}

/** Has a worker and a command do an evaluation from its start to its results, which takes no model. */
async function evaluateAnswerKey(name: string, environment: Environment): Promise<void> {
  await using worker = startWorker(name, environment, []);
  await worker.says('worker ready', 3 * minutes);
  const command = ['evaluate', '--policy', 'gold', '--suite', 'bamboogle_closedbook', '--limit', '2'];
  const { code, out, err } = await genenv(command, { GENENV_HOME: join(folder, name), ...environment });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/bamboogle_em_closedbook_first2 +100\.00/);
}

/** Waits until the server serves whoever may use it, and makes the namespace. */
async function serve(environment: Environment): Promise<void> {
  const { connectionOptions } = readConnectionSettings(environment);
  await until(
    async () => {
      try {
        const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '2s' });
        try {
          await connection.workflowService.registerNamespace({
            namespace: 'default',
            workflowExecutionRetentionPeriod: { seconds: 86_400 } as never,
          });
        } finally {
          await connection.close();
        }
        return true;
      } catch {
        return false;
      }
    },
    2 * minutes,
    'the server',
  );
}

describe('a server that wants certificates', () => {
  let server: SecuredServer;
  let good: Environment;
  beforeAll(async () => {
    server = await SecuredServer.start(join(folder, 'mtls'), 'mtls');
    good = { ...reaching(server), ...presenting(await server.authority.issue('client')) };
    await serve(good);
  }, 5 * minutes);
  afterAll(() => server[Symbol.asyncDispose]());

  /** What is changed in an environment that is good, and what is then said. */
  const cases: [string, () => Environment | Promise<Environment>, RegExp][] = [
    [
      'no TLS at all',
      () => ({ TEMPORAL_ADDRESS: good.TEMPORAL_ADDRESS! }),
      /closed a connection without TLS; if it speaks TLS, set TEMPORAL_TLS=true/,
    ],
    [
      'the wrong authority',
      () => ({ ...good, TEMPORAL_TLS_SERVER_CA_CERT_PATH: stranger.files.certificate }),
      /not signed by the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH; put the certificate of the server's authority there/,
    ],
    [
      'no certificate of the client',
      () => reaching(server),
      /wants a certificate of the client; set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH/,
    ],
    [
      'an expired certificate of the client',
      async () => ({ ...good, ...presenting(await server.authority.issue('old', { days: -1 })) }),
      /TEMPORAL_TLS_CLIENT_CERT_PATH: the client's certificate expired on \d{4}-\d\d-\d\d; replace it/,
    ],
    [
      'a certificate of another authority',
      async () => ({ ...good, ...presenting(await stranger.issue('stranger')) }),
      /refuses the client's certificate of TEMPORAL_TLS_CLIENT_CERT_PATH; use one that an authority it trusts has signed/,
    ],
    [
      'a key that does not belong to the certificate',
      () => ({ ...good, TEMPORAL_TLS_CLIENT_KEY_PATH: stranger.files.key }),
      /TEMPORAL_TLS_CLIENT_KEY_PATH: the file holds no key in PEM that belongs to the certificate/,
    ],
    [
      'half of the pair',
      () => ({
        ...reaching(server),
        TEMPORAL_TLS_CLIENT_CERT_PATH: good.TEMPORAL_TLS_CLIENT_CERT_PATH!,
      }),
      /TEMPORAL_TLS_CLIENT_CERT_PATH: is set without TEMPORAL_TLS_CLIENT_KEY_PATH; set both/,
    ],
    [
      'another name',
      () => ({ ...good, TEMPORAL_TLS_SERVER_NAME: 'temporal.example.com' }),
      /is not for temporal\.example\.com \(.*localhost.*\); set TEMPORAL_TLS_SERVER_NAME/,
    ],
  ];

  test(
    'takes the command that has one, by variables and by a profile',
    { timeout: 3 * minutes },
    async () => {
      expect((await cancel(good)).err).toMatch(/my-run/);
      const profile = join(folder, 'temporal.toml');
      writeFileSync(
        profile,
        `[profile.staging]
address = "${good.TEMPORAL_ADDRESS!}"
[profile.staging.tls]
server_ca_cert_path = "${good.TEMPORAL_TLS_SERVER_CA_CERT_PATH!}"
client_cert_path = "${good.TEMPORAL_TLS_CLIENT_CERT_PATH!}"
client_key_path = "${good.TEMPORAL_TLS_CLIENT_KEY_PATH!}"
`,
      );
      const named = await cancel({ TEMPORAL_CONFIG_FILE: profile, TEMPORAL_PROFILE: 'staging' });
      expect(named.err).toMatch(/my-run/);
      expect(named.err).not.toMatch(/cannot be used/);
    },
  );

  test('carries an evaluation to its end', { timeout: 5 * minutes }, () =>
    evaluateAnswerKey('evaluates-by-certificate', good),
  );

  test.each(cases)('%s: the command says what to do', { timeout: 3 * minutes }, async (_, change, text) => {
    const { code, err } = await cancel(await change());
    expect(err).toMatch(text);
    expect(code).not.toBe(0);
  });

  test(
    'a worker says it too, keeps trying, and starts when it is put right',
    { timeout: 6 * minutes },
    async () => {
      const wrong = startWorker('wrong-authority', {
        ...good,
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: stranger.files.certificate,
      });
      const bare = startWorker('no-certificate', reaching(server));
      await using right = startWorker('right', good);
      await wrong.says('waiting for Temporal at localhost:', 2 * minutes);
      await wrong.says('not signed by the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH', minutes);
      await bare.says('wants a certificate of the client', 2 * minutes);
      await right.says('worker ready', 3 * minutes);
      for (const worker of [wrong, bare]) {
        const tries = worker.output.split('waiting for Temporal').length;
        await until(() => worker.output.split('waiting for Temporal').length > tries, minutes, 'another try');
        expect(worker.alive).toBe(true);
        await worker.stop();
      }
    },
  );

  // Last: the server's certificate is another one from here on.
  test(
    'a server whose certificate has expired is named, and waited for',
    { timeout: 6 * minutes },
    async () => {
      server.replaceCertificate(await server.authority.issue('expired', { days: -1 }));
      const expired = "the server's certificate has expired; whoever runs the server has to renew it";
      await until(
        async () => (await cancel(good)).err.includes(expired),
        2 * minutes,
        'the expired certificate',
      );
      await using worker = startWorker('waits', good);
      await worker.says("the server's certificate has expired", 2 * minutes);
      server.replaceCertificate(await server.authority.issue('renewed'));
      await worker.says('worker ready', 3 * minutes);
    },
  );
});

describe('a server that wants keys', () => {
  let server: SecuredServer;
  let reach: Environment;
  beforeAll(async () => {
    server = await SecuredServer.start(join(folder, 'keys'), 'keys');
    reach = reaching(server);
    await serve({ ...reach, TEMPORAL_API_KEY: server.tokens.issue(['temporal-system:admin']) });
  }, 5 * minutes);
  afterAll(() => server[Symbol.asyncDispose]());

  test(
    'takes the command and the worker that have one, from a file too',
    { timeout: 5 * minutes },
    async () => {
      const key = server.tokens.issue(['default:admin']);
      expect((await cancel({ ...reach, TEMPORAL_API_KEY: key })).err).toMatch(/my-run/);
      const file = join(folder, 'key');
      writeFileSync(file, `${key}\n`, { mode: 0o600 });
      const byFile = { ...reach, TEMPORAL_API_KEY_FILE: file };
      expect((await cancel(byFile)).err).toMatch(/my-run/);
      await using worker = startWorker('with-key', byFile);
      await worker.says('worker ready', 3 * minutes);
      writeFileSync(file, server.tokens.issue(['default:admin'], { seconds: 7200 }));
      await worker.says('the API key for Temporal was replaced', minutes);
      expect(worker.output).not.toContain(key);
    },
  );

  test('carries an evaluation to its end', { timeout: 5 * minutes }, () =>
    evaluateAnswerKey('evaluates-by-key', {
      ...reach,
      TEMPORAL_API_KEY: server.tokens.issue(['default:admin']),
    }),
  );

  const refused =
    /refuses the API key of TEMPORAL_API_KEY or TEMPORAL_API_KEY_FILE: it is wrong, has expired/;
  test.each<[string, () => Environment, RegExp]>([
    ['no key', () => ({}), /wants an API key; set TEMPORAL_API_KEY, or TEMPORAL_API_KEY_FILE/],
    [
      'a key of another issuer',
      () => ({ TEMPORAL_API_KEY: new TokenIssuer().issue(['default:admin']) }),
      refused,
    ],
    [
      'a key that has expired',
      () => ({ TEMPORAL_API_KEY: server.tokens.issue(['default:admin'], { seconds: -60 }) }),
      refused,
    ],
    [
      'a key for another namespace',
      () => ({ TEMPORAL_API_KEY: server.tokens.issue(['other:admin']) }),
      refused,
    ],
  ])(
    '%s: the command says what to do, and never the key',
    { timeout: 3 * minutes },
    async (_, keys, text) => {
      const environment = keys();
      const { code, err } = await cancel({ ...reach, ...environment });
      expect(err).toMatch(text);
      expect(code).not.toBe(0);
      for (const key of Object.values(environment)) expect(err).not.toContain(key);
    },
  );

  test('a worker with a wrong key says so and keeps trying', { timeout: 4 * minutes }, async () => {
    const file = join(folder, 'wrong-key.jwt');
    writeFileSync(file, new TokenIssuer().issue(['default:admin']));
    await using worker = startWorker('wrong-key', { ...reach, TEMPORAL_API_KEY_FILE: file });
    await worker.says('the server refuses the API key', 2 * minutes);
    writeFileSync(file, server.tokens.issue(['default:admin']));
    await worker.says('worker ready', 3 * minutes);
  });
});
