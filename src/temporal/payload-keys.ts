import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { InvalidConfig } from '../validation/invalid-config.ts';

/** A key of AES-256-GCM. Its id stands in every payload that it encrypts, and is no secret. */
export interface PayloadKey {
  id: string;
  key: KeyObject;
  /** Tells keys under one id from each other, and says nothing about the key: 16 hexadecimal digits. */
  check: string;
}

/** The keys of this process: the first encrypts, all decrypt. */
export type PayloadKeys = readonly PayloadKey[];

const variable = 'GENENV_PAYLOAD_KEYS';
const fileVariable = 'GENENV_PAYLOAD_KEYS_FILE';
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const keyBytes = 32;

/**
 * The keys that the environment or its file names: `id:base64`, separated by commas, spaces or lines; none if
 * neither is set. Errors never quote what may be a key.
 * @throws InvalidConfig
 */
export function readPayloadKeys(environment: NodeJS.ProcessEnv): PayloadKeys {
  const { [variable]: inline, [fileVariable]: file } = environment;
  if (inline !== undefined && file !== undefined)
    throw new InvalidConfig(`${variable}, ${fileVariable}: got both; set one of them`);
  if (file !== undefined) return parseKeys(readKeyFile(file), `${fileVariable} (${file})`);
  return inline === undefined ? [] : parseKeys(inline, variable);
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new InvalidConfig(`${fileVariable}: got ${JSON.stringify(file)}, which cannot be read (${code})`);
  }
}

function parseKeys(text: string, source: string): PayloadKeys {
  const keys = text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry, index) => parseKey(entry, `${source}, key ${index + 1}`));
  if (keys.length === 0)
    throw new InvalidConfig(
      `${source}: got no key; expected id:base64 of ${keyBytes} bytes, or leave the variable unset`,
    );
  const repeated = keys.find(({ id }, index) => keys.findIndex((key) => key.id === id) !== index);
  if (repeated !== undefined)
    throw new InvalidConfig(`${source}: got two keys with the id ${JSON.stringify(repeated.id)}`);
  return keys;
}

function parseKey(entry: string, place: string): PayloadKey {
  const colon = entry.indexOf(':');
  const id = entry.slice(0, Math.max(0, colon));
  if (!idPattern.test(id))
    throw new InvalidConfig(
      `${place}: expected id:base64, with an id of letters, digits, dots, dashes and underscores, at most 64`,
    );
  const encoded = entry.slice(colon + 1);
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== keyBytes || bytes.toString('base64') !== encoded)
    throw new InvalidConfig(
      `${place} (${id}): expected the base64 of ${keyBytes} random bytes; \`genenv keys create\` makes one`,
    );
  const key = createSecretKey(bytes);
  return {
    id,
    key,
    check: createHmac('sha256', key).update('genenv payload key').digest('hex').slice(0, 16),
  };
}
