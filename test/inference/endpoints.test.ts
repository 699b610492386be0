import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverResolver, workerResolver } from '../../src/inference/endpoints.ts';
import type { ResolveServers } from '../../src/inference/endpoints.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'genenv-endpoints-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const list = {
  endpoints: {
    vllm: { baseUrl: ['http://a:8000/v1', 'http://b:8000/v1'], apiKeyEnv: 'VLLM_API_KEY' },
    open: { baseUrl: 'https://open.example/v1' },
  },
  addresses: ['http://127.0.0.1:*', 'http://lab:9000'],
};
const environment = { VLLM_API_KEY: 'key-of-vllm', AWS_SECRET_ACCESS_KEY: 'SECRET-aws' };
const resolverOf = (content: object, env: NodeJS.ProcessEnv = environment) =>
  serverResolver({ variable: JSON.stringify(content), homeFile: '' }, env);
const resolve = resolverOf(list);

describe('what a worker may speak to', () => {
  it('is an endpoint by its name, with its addresses and its key', () => {
    expect(resolve({ baseUrl: 'endpoint:vllm', apiKeyEnv: null })).toEqual([
      { baseUrl: 'http://a:8000/v1', apiKey: 'key-of-vllm' },
      { baseUrl: 'http://b:8000/v1', apiKey: 'key-of-vllm' },
    ]);
  });

  it('is the address of an endpoint, if the file names the same key', () => {
    expect(resolve({ baseUrl: 'http://b:8000/v1', apiKeyEnv: 'VLLM_API_KEY' })).toEqual([
      { baseUrl: 'http://b:8000/v1', apiKey: 'key-of-vllm' },
    ]);
    expect(resolve({ baseUrl: 'https://open.example/v1', apiKeyEnv: null })).toEqual([
      { baseUrl: 'https://open.example/v1', apiKey: undefined },
    ]);
  });

  it.each(['http://a:8000/v1/', 'http://a:8000/v1/below', 'http://a:8000/x/../v1'])(
    'is a path below an endpoint: %s',
    (baseUrl) => expect(resolve({ baseUrl, apiKeyEnv: 'VLLM_API_KEY' })[0]!.apiKey).toBe('key-of-vllm'),
  );

  it('is any path of an endpoint that is listed without one', () => {
    const origin = resolverOf({ endpoints: { e: { baseUrl: 'http://e:1', apiKeyEnv: 'VLLM_API_KEY' } } });
    for (const baseUrl of ['http://e:1', 'http://e:1/', 'http://e:1/v1', 'http://e:1/s/{query}?q={query}'])
      expect(origin({ baseUrl, apiKeyEnv: 'VLLM_API_KEY' })).toEqual([{ baseUrl, apiKey: 'key-of-vllm' }]);
  });

  it('is an address with escapes, if it is listed as it is', () => {
    const baseUrl = 'http://e:1/s;a%20b/{query}';
    const listed = resolverOf({ endpoints: { e: { baseUrl, apiKeyEnv: 'VLLM_API_KEY' } } });
    expect(listed({ baseUrl, apiKeyEnv: 'VLLM_API_KEY' })).toEqual([{ baseUrl, apiKey: 'key-of-vllm' }]);
  });

  it('is an origin that the list permits, without a key', () => {
    expect(resolve({ baseUrl: ['http://127.0.0.1:5/v1', 'http://lab:9000/v1'], apiKeyEnv: null })).toEqual([
      { baseUrl: 'http://127.0.0.1:5/v1', apiKey: undefined },
      { baseUrl: 'http://lab:9000/v1', apiKey: undefined },
    ]);
  });

  it.each([
    ['another variable to a permitted host', 'http://a:8000/v1', 'AWS_SECRET_ACCESS_KEY'],
    ['a permitted variable to another host', 'http://evil.example/v1', 'VLLM_API_KEY'],
    ['a permitted variable to another port', 'http://a:8001/v1', 'VLLM_API_KEY'],
    ['a permitted variable to another path', 'http://b:8000/other', 'VLLM_API_KEY'],
    ['a permitted variable to a path that begins alike', 'http://b:8000/v10', 'VLLM_API_KEY'],
    ['a permitted variable to a path above', 'http://b:8000/', 'VLLM_API_KEY'],
    ['a permitted variable to a path that climbs', 'http://b:8000/v1/../other', 'VLLM_API_KEY'],
    ['a permitted variable to a path that climbs in code', 'http://b:8000/v1/%2e%2e/other', 'VLLM_API_KEY'],
    ['a permitted variable behind encoded slashes', 'http://b:8000/v1/..%2Fother', 'VLLM_API_KEY'],
    ['a permitted variable behind twice encoded dots', 'http://b:8000/v1/%252e%252e/other', 'VLLM_API_KEY'],
    ['a permitted variable behind overlong dots', 'http://b:8000/v1/%c0%ae%c0%ae/other', 'VLLM_API_KEY'],
    ['a permitted variable behind path parameters', 'http://b:8000/v1/..;/other', 'VLLM_API_KEY'],
    ['a permitted variable to a path of a model’s choice', 'http://b:8000/v1/{query}', 'VLLM_API_KEY'],
    ['a permitted variable in plain text', 'http://open.example/v1', null],
    ['a key to an origin that is permitted without one', 'http://127.0.0.1:5/v1', 'VLLM_API_KEY'],
    ['the address of an endpoint without its key', 'http://a:8000/v1', null],
    ['cloud metadata', 'http://169.254.169.254/latest', null],
    ['another name that begins like a permitted one', 'http://lab.evil.example:9000/v1', null],
    ['an address in other digits', 'http://2130706433.evil/v1', null],
    ['an unknown endpoint', 'endpoint:toString', null],
  ])('is not %s', (_, baseUrl, apiKeyEnv) => {
    expect(() => resolve({ baseUrl, apiKeyEnv })).toThrow(
      expect.objectContaining({
        name: 'ModelUnavailable',
        message: expect.stringMatching(/the list of this worker/) as string,
      }),
    );
    expect(() => resolve({ baseUrl: ['http://127.0.0.1:5/v1', baseUrl], apiKeyEnv })).toThrow();
  });

  it('is nothing without a list', () => {
    const empty = serverResolver({ variable: undefined, homeFile: join(folder, 'none.json') }, environment);
    expect(() => empty({ baseUrl: 'http://127.0.0.1:8000/v1', apiKeyEnv: null })).toThrow(
      'http://127.0.0.1:8000: the list of this worker does not permit it: ' +
        '`genenv endpoints allow http://127.0.0.1:8000` adds it',
    );
  });

  it('changes with the list and with files of keys, while the worker runs', () => {
    const [homeFile, key] = [join(folder, 'endpoints.json'), join(folder, 'key')];
    const write = (endpoint: object) =>
      writeFileSync(homeFile, JSON.stringify({ endpoints: { e: endpoint } }));
    const current = serverResolver({ variable: undefined, homeFile }, { KEY_FILE: key });
    const apiKey = () => current({ baseUrl: 'endpoint:e', apiKeyEnv: null })[0]!.apiKey;
    write({ baseUrl: 'http://a/v1', apiKeyEnv: 'KEY' });
    writeFileSync(key, 'first\n');
    expect(apiKey()).toBe('first');
    writeFileSync(key, 'second\n');
    expect(apiKey()).toBe('second');
    write({ baseUrl: 'http://a/v1', apiKeyFile: join(folder, 'absent') });
    expect(apiKey).toThrow('endpoints: apiKeyFile: got');
    rmSync(homeFile);
    expect(apiKey).toThrow('no endpoint e');
  });
});

describe('a key', () => {
  it.each(['line\nbreak', 'nul\0', '', 'ü', 'x'.repeat(20_000)])(
    'that no header takes is not quoted',
    (key) => {
      const bad = resolverOf(list, { VLLM_API_KEY: key });
      const ask = () => bad({ baseUrl: 'endpoint:vllm', apiKeyEnv: null });
      expect(ask).toThrow(/^VLLM_API_KEY: expected 1 to 16384 printable ASCII characters/);
      if (key !== '') expect(ask).not.toThrow(key);
    },
  );

  it('that is not set is named, and waited for', () => {
    expect(() => resolverOf(list, {})({ baseUrl: 'endpoint:vllm', apiKeyEnv: null })).toThrow(
      'neither VLLM_API_KEY nor VLLM_API_KEY_FILE is set on this worker',
    );
  });
});

describe('the list', () => {
  it.each([
    [{ endpoints: { 'a b': { baseUrl: 'http://a' } } }, 'endpoints.a b'],
    [{ endpoints: { a: { baseUrl: 'http://user:secret@a/v1' } } }, 'endpoints.a.baseUrl'],
    [{ endpoints: { a: { baseUrl: 'http://a/v1#b' } } }, 'endpoints.a.baseUrl'],
    [{ endpoints: { a: { baseUrl: 'file:///etc' } } }, 'endpoints.a.baseUrl'],
    [{ endpoints: { a: { baseUrl: 'endpoint:b' } } }, 'endpoints.a.baseUrl'],
    [
      { endpoints: { a: { baseUrl: 'http://a', apiKeyEnv: 'A', apiKeyFile: 'b' } } },
      'endpoints.a.apiKeyFile',
    ],
    [{ addresses: ['http://a/path'] }, 'addresses[0]'],
    [{ addresses: ['*'] }, 'addresses[0]'],
    [{ keys: {} }, 'keys: unknown field'],
  ])('%j is refused', (content, field) => {
    const ask = () => resolverOf(content)({ baseUrl: 'endpoint:vllm', apiKeyEnv: null });
    expect(ask).toThrow(`endpoints: ${field}`);
    expect(ask).not.toThrow('secret@');
  });
});

describe('what the operator can mend', () => {
  const home = () => join(folder, 'endpoints.json');
  const key = () => join(folder, 'key');
  const good = JSON.stringify({ endpoints: { e: { baseUrl: 'http://e/v1', apiKeyEnv: 'KEY' } } });
  const reference = { baseUrl: 'endpoint:e', apiKeyEnv: null };
  const errorOf = (resolve: ResolveServers): unknown => {
    try {
      return resolve(reference);
    } catch (error) {
      return error;
    }
  };
  const LIST = "the operator's list of endpoints";

  it.each<[string, string, () => void, RegExp]>([
    ['no list of this form', LIST, () => writeFileSync(home(), '{"endpoint": {}}'), /^endpoints: endpoint: /],
    ['half a list', LIST, () => writeFileSync(home(), good.slice(0, 40)), /endpoints\.json: expected JSON/],
    ['an empty list', LIST, () => writeFileSync(home(), ''), /endpoints\.json: expected JSON/],
    ['an empty key', 'the key of endpoint:e', () => writeFileSync(key(), ''), /^KEY_FILE: the content of/],
    ['half a line', 'the key of endpoint:e', () => writeFileSync(key(), 'a b'), /printable ASCII/],
    ['no key', 'the key of endpoint:e', () => rmSync(key()), /cannot be read \(ENOENT\)/],
  ])('ends no run of a worker, and is refused by a command: %s', (_, server, spoil, reason) => {
    const source = { variable: undefined, homeFile: home() };
    const resolvers = [workerResolver, serverResolver].map((create) => create(source, { KEY_FILE: key() }));
    const [inWorker, inCommand] = resolvers as [ResolveServers, ResolveServers];
    writeFileSync(home(), good);
    writeFileSync(key(), 'first');
    spoil();
    const refused = errorOf(inCommand);
    expect(refused).toMatchObject({
      name: 'InvalidConfig',
      message: expect.stringMatching(reason) as string,
    });
    expect(errorOf(inWorker)).toMatchObject({
      name: 'ModelUnavailable',
      server,
      reason: expect.stringMatching(reason) as string,
      cause: { name: 'InvalidConfig' },
    });

    writeFileSync(home(), good);
    writeFileSync(key(), 'second');
    expect(inWorker(reference)).toEqual([{ baseUrl: 'http://e/v1', apiKey: 'second' }]);
  });

  it('is not what a file of a run says itself: a key beside the name of an endpoint', () => {
    for (const create of [workerResolver, serverResolver])
      expect(() =>
        create({ variable: good, homeFile: '' }, { KEY: 'k' })({ ...reference, apiKeyEnv: 'KEY' }),
      ).toThrow(expect.objectContaining({ name: 'InvalidConfig' }));
  });
});
