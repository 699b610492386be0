import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { toJsonPayload } from '../../src/temporal/json-payload.ts';
import type { JsonPayload } from '../../src/temporal/json-payload.ts';
import { EncryptionCodec } from '../../src/temporal/payload-codec.ts';
import { freePort } from '../../test-support/free-port.ts';
import { TestProcess, until } from '../../test-support/processes.ts';
import { keysOf, keyText } from '../temporal/some-keys.ts';
import { genenv, startGenenv } from './genenv-process.ts';
import type { GenenvProcess } from './genenv-process.ts';

/** The codec server as a process, asked by a page, by strangers, and by the real Temporal CLI. */

const token = 'a-token-of-thirty-two-characters';
const origin = 'http://ui.example:8233';
const secret = 'canary-in-the-input';
const environment = { GENENV_PAYLOAD_KEYS: keyText('a'), GENENV_CODEC_TOKEN: token };
let server: GenenvProcess;
let encoder: GenenvProcess;
let port: number;
let encoderPort: number;
let encrypted: JsonPayload;

beforeAll(async () => {
  [port, encoderPort] = [await freePort(), await freePort()];
  server = startGenenv(['codec-server', '--port', String(port), '--origin', origin], environment);
  encoder = startGenenv(
    ['codec-server', '--port', String(encoderPort), '--encode', '--allow-host', 'Codec.example:443'],
    environment,
  );
  const payload = defaultPayloadConverter.toPayload(secret);
  encrypted = toJsonPayload((await new EncryptionCodec(keysOf(keyText('a'))).encode([payload]))[0]!);
  for (const { out } of [server, encoder])
    await until(() => out().includes('codec server:'), 60_000, 'the codec server');
}, 90_000);
afterAll(async () => {
  for (const { child, ended } of [server, encoder]) {
    child.kill('SIGINT');
    expect((await ended).code).toBe(0);
  }
});

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** A request with headers that `fetch` would not send, such as another Host. */
function ask(
  path: string,
  {
    host = '127.0.0.1',
    headers = {},
    body = JSON.stringify({ payloads: [encrypted] }),
    method = 'POST',
    at = port,
  }: { host?: string; headers?: Record<string, string>; body?: string; method?: string; at?: number } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host,
        port: at,
        path,
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(method === 'POST' ? body : undefined);
  });
}

const contents = ({ body }: Answer): string[] =>
  (JSON.parse(body) as { payloads: JsonPayload[] }).payloads.map(({ data = '' }) =>
    Buffer.from(data, 'base64').toString('utf8'),
  );

test('decrypts for whoever has the token, and passes plain payloads', async () => {
  const plain = toJsonPayload(defaultPayloadConverter.toPayload('plain'));
  const answer = await ask('/decode', { body: JSON.stringify({ payloads: [encrypted, plain] }) });
  expect(answer.status).toBe(200);
  expect(contents(answer)).toEqual([`"${secret}"`, '"plain"']);
  expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  expect(contents(await ask(`/${token}/decode`, { headers: { authorization: '' } }))).toEqual([
    `"${secret}"`,
  ]);
});

test.each([
  ['no token', 401, '/decode', { headers: { authorization: '' } }],
  ['another token', 401, '/decode', { headers: { authorization: `Bearer ${token}x` } }],
  ['another token in its path', 401, `/${token}x/decode`, { headers: { authorization: '' } }],
  ['another host name', 403, '/decode', { headers: { host: 'evil.example' } }],
  ['the host name without its port', 403, '/decode', { headers: { host: '127.0.0.1' } }],
  ['a page that is not listed', 403, '/decode', { headers: { origin: 'https://evil.example' } }],
  ['a page without an origin', 403, '/decode', { headers: { origin: 'null' } }],
  ['encode, which is off', 404, '/encode', {}],
  ['another path', 404, '/', {}],
  ['GET', 405, '/decode', { method: 'GET' }],
  ['a form of a page', 415, '/decode', { headers: { 'content-type': 'text/plain' } }],
  ['no JSON', 400, '/decode', { body: '{' }],
  ['no payloads', 400, '/decode', { body: '{"payloads":{}}' }],
  ['no base64', 400, '/decode', { body: '{"payloads":[{"data":"*"}]}' }],
  ['too many payloads', 400, '/decode', { body: `{"payloads":[${'{},'.repeat(10_000)}{}]}` }],
  ['too many values', 413, '/decode', { body: `{"payloads":[${'1,'.repeat(100_000)}1]}` }],
  ['too many levels', 413, '/decode', { body: '['.repeat(100_001) }],
  ['a body that is too long', 413, '/decode', { body: JSON.stringify({ payloads: 'x'.repeat(9e6) }) }],
])('refuses %s', async (_, status, path, options) => {
  const answer = await ask(path, options).catch((error: unknown) => error as NodeJS.ErrnoException);
  // A server may close the connection while a body that is too long is still on its way.
  if (answer instanceof Error) expect([413, answer.code]).toEqual([status, 'EPIPE']);
  else expect([answer.status, answer.body]).toEqual([status, expect.not.stringContaining(secret)]);
});

test('answers as many payloads as it takes, each with four fields of metadata', async () => {
  const metadata = { ...encrypted.metadata, messageType: '', 'encoding-original': '', more: '' };
  const payloads = Array.from({ length: 10_000 }, () => ({ ...encrypted, metadata }));
  const { status, body } = await ask('/decode', { body: JSON.stringify({ payloads }) });
  expect(status).toBe(200);
  expect((JSON.parse(body) as { payloads: unknown[] }).payloads).toHaveLength(10_000);
});

test('listens on 127.0.0.1 alone, unless it is told another address', async () => {
  expect(server.out()).toContain(`codec server: http://127.0.0.1:${port},`);
  // A server of all addresses of a machine answers on this one too.
  await expect(ask('/decode', { host: '127.0.0.2' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a payload of another key is refused by the name of that key', async () => {
  const payload = defaultPayloadConverter.toPayload(secret);
  const [elsewhere] = await new EncryptionCodec(keysOf(keyText('b'))).encode([payload]);
  const answer = await ask('/decode', { body: JSON.stringify({ payloads: [toJsonPayload(elsewhere!)] }) });
  expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('the key \\"b\\"') as string });
});

describe('CORS', () => {
  const preflight = { 'access-control-request-method': 'POST', authorization: '' };

  test('a page that is listed may ask, after its preflight', async () => {
    const before = await ask('/decode', { method: 'OPTIONS', headers: { ...preflight, origin } });
    expect(before).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-headers': 'authorization, content-type, x-namespace',
        vary: 'origin',
      },
    });
    const answer = await ask('/decode', { headers: { origin } });
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
    expect(contents(answer)).toEqual([`"${secret}"`]);
  });

  test.each(['https://evil.example', 'null', `${origin}.evil.example`, 'http://127.0.0.1:8233'])(
    'the preflight of %s is refused',
    async (page) => {
      const { status, headers } = await ask('/decode', {
        method: 'OPTIONS',
        headers: { ...preflight, origin: page },
      });
      expect([status, headers['access-control-allow-origin']]).toEqual([403, undefined]);
    },
  );
});

test('with --encode it encrypts, under the other names that it was given too', async () => {
  const plain = toJsonPayload(defaultPayloadConverter.toPayload(secret));
  const answer = await ask('/encode', {
    at: encoderPort,
    body: JSON.stringify({ payloads: [plain] }),
    headers: { host: 'codec.example:443' },
  });
  expect(contents(answer)[0]).not.toContain(secret);
  const back = await ask('/decode', { at: encoderPort, body: answer.body });
  expect(contents(back)).toEqual([`"${secret}"`]);
});

test.each([
  ['no keys', { GENENV_CODEC_TOKEN: token }, [], 'GENENV_PAYLOAD_KEYS: missing'],
  ['no token', { GENENV_PAYLOAD_KEYS: keyText('a') }, [], 'GENENV_CODEC_TOKEN: missing'],
  ['a short token', { ...environment, GENENV_CODEC_TOKEN: 'short' }, [], 'expected 32 or more'],
  [
    'a token file that is not there',
    { ...environment, GENENV_CODEC_TOKEN: undefined, GENENV_CODEC_TOKEN_FILE: '/nowhere' },
    [],
    '(ENOENT)',
  ],
  ['an origin with a path', environment, ['--origin', 'http://a/b'], '--origin: got "http://a/b"'],
  ['any origin', environment, ['--origin', '*'], '--origin: got "*"'],
])('does not start with %s', async (_, env, args, message) => {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const { code, err } = await genenv(['codec-server', '--port', '0', ...args], Object.fromEntries(entries));
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});

test('the Temporal CLI shows a history through it, and nothing without the token', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'genenv-codec-'));
  const temporalPort = await freePort();
  const address = `127.0.0.1:${temporalPort}`;
  const run = (args: string[]): TestProcess =>
    new TestProcess(temporalPath(), args, { env: process.env, cwd: repository, log: join(folder, 'log') });
  const show = async (authorization: string): Promise<string> => {
    const endpoint = `http://127.0.0.1:${port}`;
    const cli = run(
      ['--address', address, '--codec-endpoint', endpoint, '--codec-auth', authorization].concat([
        'workflow',
        'show',
        '--workflow-id',
        'shown',
        '--output',
        'json',
      ]),
    );
    await cli.exited;
    return cli.output;
  };
  const temporal = run([
    'server',
    'start-dev',
    '--headless',
    '--port',
    String(temporalPort),
    '--log-level',
    'error',
  ]);
  let connection: Connection | undefined;
  try {
    await until(
      async () => (connection = await Connection.connect({ address }).catch(() => undefined)) !== undefined,
      60_000,
      'Temporal',
    );
    const client = new Client({
      connection: connection!,
      dataConverter: createDataConverter(keysOf(keyText('a'))),
    });
    await client.workflow.start('experiment', { args: [secret], workflowId: 'shown', taskQueue: 'none' });
    const inBase64 = Buffer.from(JSON.stringify(secret)).toString('base64');
    expect(await show(`Bearer ${token}`)).toContain(inBase64);
    const refused = await show('Bearer wrong');
    expect(refused).not.toContain(inBase64);
    expect(refused).toContain('level=ERROR');
  } finally {
    await connection?.close();
    await temporal.stop('SIGTERM', 5_000);
    rmSync(folder, { recursive: true });
  }
}, 120_000);

test('genenv keys create makes a key that only its owner may read, and never replaces it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'genenv-codec-'));
  try {
    const file = join(folder, 'keys');
    const make = () => genenv(['keys', 'create', '--id', 'mine', '--file', file], {});
    const made = await make();
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('the key mine') as string });
    const text = readFileSync(file, 'utf8');
    expect(keysOf(text.trim())).toMatchObject([{ id: 'mine' }]);
    expect(made.out).not.toContain(text.trim().slice(5));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await make()).toMatchObject({ code: 2, err: expect.stringContaining('there already') as string });
    expect(readFileSync(file, 'utf8')).toBe(text);
    const printed = await genenv(['keys', 'create', '--id', 'b'], {});
    expect(keysOf(printed.out.trim())).toMatchObject([{ id: 'b' }]);
    expect((await genenv(['keys', 'create', '--id', 'a b'], {})).code).toBe(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
