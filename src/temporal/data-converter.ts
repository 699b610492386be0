import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec } from './payload-codec.ts';
import type { PayloadKeys } from './payload-keys.ts';

/** The module that the bundle of the workflows has as well. */
const failureConverterPath = fileURLToPath(new URL('failure-converter.ts', import.meta.url));

/**
 * What every client and every worker reads and writes payloads with. With keys, all payloads are encrypted,
 * and messages and stack traces of failures are among them.
 */
export function createDataConverter(keys: PayloadKeys): DataConverter {
  return {
    payloadCodecs: [new EncryptionCodec(keys)],
    ...(keys.length > 0 && { failureConverterPath }),
  };
}
