import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure, DefaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { expect, test } from 'vitest';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { recordKey, requireRecordedKey } from '../../src/temporal/key-record.ts';
import { failureConverter } from '../../src/temporal/failure-converter.ts';
import { EncryptionCodec } from '../../src/temporal/payload-codec.ts';
import { readPayloadKeys } from '../../src/temporal/payload-keys.ts';
import { keysOf, keyText } from './some-keys.ts';

const secret = 'sk-very-secret, http://10.0.0.7/v1';
const payload = (): Payload => defaultPayloadConverter.toPayload({ prompt: secret });
const codec = (...keys: string[]): EncryptionCodec =>
  new EncryptionCodec(keys.length === 0 ? [] : keysOf(...keys));
const text = ({ metadata, data }: Payload): string =>
  JSON.stringify([
    Buffer.from(data!).toString('latin1'),
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
  ]);
const encodeOne = async (by: EncryptionCodec): Promise<Payload> => (await by.encode([payload()]))[0]!;

test('what is encrypted shows its key id, neither content nor original encoding, and is decrypted', async () => {
  const encrypted = await encodeOne(codec(keyText('a')));
  expect(text(encrypted)).not.toContain('secret');
  expect(text(encrypted)).not.toContain('json/plain');
  expect(text(encrypted)).toContain('binary/encrypted');
  const [decrypted] = await codec(keyText('a')).decode([encrypted]);
  expect(defaultPayloadConverter.fromPayload(decrypted!)).toEqual({ prompt: secret });
});

test('the same payload never gives the same bytes', async () => {
  const seen = new Set<string>();
  for (let draw = 0; draw < 200; draw++) seen.add(text(await encodeOne(codec(keyText('a')))));
  expect(seen.size).toBe(200);
});

test('after a rotation the first key encrypts, and the earlier one still decrypts', async () => {
  const earlier = await encodeOne(codec(keyText('a')));
  const rotated = codec(keyText('b'), keyText('a'));
  expect(text(await encodeOne(rotated))).toContain('["encryption-key-id","b"]');
  const [decrypted] = await rotated.decode([earlier]);
  expect(defaultPayloadConverter.fromPayload(decrypted!)).toEqual({ prompt: secret });
});

test('plain payloads pass, with keys and without', async () => {
  for (const by of [codec(), codec(keyText('a'))]) expect(await by.decode([payload()])).toEqual([payload()]);
  expect(await codec().encode([payload()])).toEqual([payload()]);
});

test.each([
  ['no key', codec(), /encrypted with the key "a", which is not in GENENV_PAYLOAD_KEYS.*there: no key/],
  ['other keys', codec(keyText('b'), keyText('c')), /the key "a".*there: b, c/],
  ['another key under the id', codec(keyText('a', 'x')), /cannot be decrypted with the key "a"/],
])('a process with %s says which key is missing', async (_, by, message) => {
  await expect(by.decode([await encodeOne(codec(keyText('a')))])).rejects.toThrow(
    expect.objectContaining({ name: 'PayloadUnreadable', message: expect.stringMatching(message) as string }),
  );
});

test('a payload that was changed anywhere is refused', async () => {
  const by = codec(keyText('a'), keyText('b', 'a'));
  const encrypted = await encodeOne(by);
  const [metadata, data] = [encrypted.metadata!, encrypted.data!];
  for (let at = 0; at < data.length; at++) {
    const changed = Uint8Array.from(data);
    changed[at]! ^= 1;
    await expect(by.decode([{ metadata, data: changed }])).rejects.toThrow('cannot be decrypted');
  }
  for (const length of [0, 1, 12, 27, 28, data.length - 1])
    await expect(by.decode([{ metadata, data: data.subarray(0, length) }])).rejects.toThrow('cannot be');
  // The bytes of both keys are equal here: the id is authenticated.
  await expect(
    by.decode([{ metadata: { ...metadata, 'encryption-key-id': Buffer.from('b') }, data }]),
  ).rejects.toThrow('cannot be decrypted with the key "b"');
});

test('an id that a stranger wrote is cut where it is quoted', async () => {
  const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.alloc(1e6, 'x') };
  await expect(codec().decode([{ metadata, data: Buffer.alloc(40) }])).rejects.toThrow(
    expect.objectContaining({ message: expect.stringMatching(/^.{1,400}$/) as string }),
  );
});

/** What of a failure no codec sees. */
const plainPart = (failure: object): string =>
  JSON.stringify(failure, (_, value: unknown) =>
    typeof value === 'object' && value !== null && 'metadata' in value ? '<payload>' : value,
  );

test('of a failure, only its type and shape stay outside of payloads, at every depth', () => {
  const cause = ApplicationFailure.create({
    message: `refused by ${secret}`,
    details: [secret],
    type: 'Refused',
  });
  const error = ApplicationFailure.create({ message: `could not ask ${secret}`, cause });
  const failure = failureConverter.errorToFailure(error, defaultPayloadConverter);
  expect(plainPart(failure)).not.toContain('secret');
  expect(plainPart(failure)).not.toContain('payload-codec.test');
  expect(plainPart(failure)).toContain('Refused');
  expect(failureConverter.failureToError(failure, defaultPayloadConverter)).toMatchObject({
    message: `could not ask ${secret}`,
    cause: { message: `refused by ${secret}`, details: [secret] },
  });
  const plain = new DefaultFailureConverter().errorToFailure(error, defaultPayloadConverter);
  expect(plainPart(plain)).toContain('secret');
});

test('an error that is thrown on keeps its message, however often it is converted', () => {
  const first = failureConverter.errorToFailure(new Error(secret), defaultPayloadConverter);
  const received = failureConverter.failureToError(first, defaultPayloadConverter);
  failureConverter.errorToFailure(received, defaultPayloadConverter);
  const again = failureConverter.errorToFailure(received, defaultPayloadConverter);
  expect(failureConverter.failureToError(again, defaultPayloadConverter).message).toBe(secret);
});

test('failures are encoded if there is a key, and stay readable if there is none', () => {
  expect(createDataConverter(keysOf(keyText('a'))).failureConverterPath).toMatch(/\/failure-converter\.ts$/);
  expect(createDataConverter([]).failureConverterPath).toMatch(/plain-failure-converter\.ts$/);
});

test.each([
  ['two sources', { GENENV_PAYLOAD_KEYS: keyText('a'), GENENV_PAYLOAD_KEYS_FILE: 'f' }, 'got both'],
  ['no file', { GENENV_PAYLOAD_KEYS_FILE: '/nowhere/keys' }, '(ENOENT)'],
  ['nothing', { GENENV_PAYLOAD_KEYS: ' ' }, 'got no key'],
  [
    'a short key',
    { GENENV_PAYLOAD_KEYS: `a:${Buffer.alloc(31, 'K').toString('base64')}` },
    'key 1 (a): expected',
  ],
  ['no base64', { GENENV_PAYLOAD_KEYS: `a:${'K'.repeat(43)}*` }, 'key 1 (a): expected the base64'],
  ['no id', { GENENV_PAYLOAD_KEYS: `${'K'.repeat(43)}=` }, 'key 1: expected id:base64'],
  ['an id with a space', { GENENV_PAYLOAD_KEYS: `a b:${'K'.repeat(43)}=` }, 'key 1: expected id:base64'],
  [
    'an id twice',
    { GENENV_PAYLOAD_KEYS: `${keyText('a')},${keyText('a', 'x')}` },
    'two keys with the id "a"',
  ],
])('keys with %s are refused, and not quoted', (_, environment, message) => {
  expect(() => readPayloadKeys(environment)).toThrow(
    expect.objectContaining({ name: 'InvalidConfig', message: expect.stringContaining(message) as string }),
  );
  expect(() => readPayloadKeys(environment)).not.toThrow('KKKK');
});

test('a file of keys, one a line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'genenv-keys-'));
  try {
    writeFileSync(join(folder, 'keys'), `${keyText('b')}\n${keyText('a')}\n`);
    const keys = readPayloadKeys({ GENENV_PAYLOAD_KEYS_FILE: join(folder, 'keys') });
    expect(keys.map(({ id }) => id)).toEqual(['b', 'a']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a store whose payloads are encrypted refuses a process without that key', async () => {
  const store = mkdtempSync(join(tmpdir(), 'genenv-keys-'));
  try {
    await requireRecordedKey(store, []);
    await recordKey(store, []);
    await requireRecordedKey(store, []);
    await recordKey(store, keysOf(keyText('a')));
    await requireRecordedKey(store, keysOf(keyText('b'), keyText('a')));
    await expect(requireRecordedKey(store, [])).rejects.toThrow('the key "a" is missing');
    await expect(requireRecordedKey(store, keysOf(keyText('b')))).rejects.toThrow('the key "a" is missing');
    await expect(requireRecordedKey(store, keysOf(keyText('a', 'x')))).rejects.toThrow('"a" is another');
    await recordKey(store, keysOf(keyText('b'), keyText('a')));
    await expect(requireRecordedKey(store, keysOf(keyText('a')))).rejects.toThrow('the key "b" is missing');
    writeFileSync(join(store, 'payload-key.json'), '[]');
    await expect(requireRecordedKey(store, [])).rejects.toThrow('expected the id and check');
  } finally {
    rmSync(store, { recursive: true });
  }
});
