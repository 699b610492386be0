import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { PayloadUnreadable as ErrorName } from '../types/activity-types.ts';
import type { PayloadKey, PayloadKeys } from './payload-keys.ts';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

const encoding = 'binary/encrypted';
const keyIdField = 'encryption-key-id';
const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** An encrypted payload cannot be read here: what waits for it is tried again, until its key is there. */
export class PayloadUnreadable extends Error {
  override readonly name = 'PayloadUnreadable' satisfies ErrorName;
  /** A process without keys reports its failures as plain text: no paths in them. */
  override readonly stack = '';
}

/**
 * Encrypts every payload with the first key, and decrypts with the one that a payload names. The data of an
 * encrypted payload is nonce (96 random bits), ciphertext of the payload as a protobuf message, and tag
 * (128 bits); encoding and key id are authenticated with it. Plain payloads pass, so histories from before
 * there were keys stay readable; without keys, nothing is encrypted.
 */
export class EncryptionCodec implements PayloadCodec {
  readonly #keys: PayloadKeys;

  constructor(keys: PayloadKeys) {
    this.#keys = keys;
  }

  encode(payloads: Payload[]): Promise<Payload[]> {
    const [key] = this.#keys;
    return Promise.resolve(key === undefined ? payloads : payloads.map((payload) => encrypt(payload, key)));
  }

  /** @throws PayloadUnreadable naming the key */
  // eslint-disable-next-line @typescript-eslint/require-await -- an error must reject, not throw
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isEncrypted(payload) ? this.#decrypt(payload) : payload));
  }

  #decrypt({ metadata, data }: Payload): Payload {
    const id = textOf(metadata?.[keyIdField]);
    const key = this.#keys.find((candidate) => candidate.id === id);
    if (key === undefined)
      throw new PayloadUnreadable(
        `payload: it is encrypted with the key ${quote(id)}, which is not in GENENV_PAYLOAD_KEYS or ` +
          `GENENV_PAYLOAD_KEYS_FILE (there: ${this.#keys.map((candidate) => candidate.id).join(', ') || 'no key'}); ` +
          'add that key, after the one that encrypts',
      );
    return decrypt(data ?? new Uint8Array(), key);
  }
}

/** Whether a payload is encrypted by this codec, with whatever key. */
export const isEncrypted = ({ metadata }: Payload): boolean => textOf(metadata?.encoding) === encoding;

/** What is authenticated but not encrypted. */
const associatedData = (id: string): Buffer => Buffer.from(`${encoding}\n${id}`);

function encrypt(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(associatedData(id));
  const plain = PayloadMessage.encode(payload).finish();
  const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from(encoding), [keyIdField]: Buffer.from(id) }, data };
}

function decrypt(data: Uint8Array, { id, key }: PayloadKey): Payload {
  const tagAt = data.length - tagBytes;
  try {
    const decipher = createDecipheriv(algorithm, key, data.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
      .setAAD(associatedData(id))
      .setAuthTag(data.subarray(tagAt));
    const plain = Buffer.concat([decipher.update(data.subarray(nonceBytes, tagAt)), decipher.final()]);
    const { metadata, data: content } = PayloadMessage.decode(plain);
    return { metadata, data: content };
  } catch {
    throw new PayloadUnreadable(
      `payload: it cannot be decrypted with the key ${quote(id)}: either another key had this id when it was ` +
        'encrypted, or it was changed since',
    );
  }
}

const textOf = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

/** Anyone who may start a workflow can write a key id. */
const quote = (id: string): string => JSON.stringify(id.slice(0, 64));
