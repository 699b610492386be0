import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec } from './payload-codec.ts';
import type { PayloadKeys } from './payload-keys.ts';

/** Modules that the bundle of the workflows has as well. */
const pathOf = (module: string): string => fileURLToPath(new URL(module, import.meta.url));

/**
 * What every client and every worker reads and writes payloads with. With keys, all payloads are encrypted,
 * and messages of failures are among them.
 */
export function createDataConverter(keys: PayloadKeys): DataConverter {
  return {
    payloadCodecs: [new EncryptionCodec(keys)],
    failureConverterPath: pathOf(keys.length > 0 ? 'failure-converter.ts' : 'plain-failure-converter.ts'),
  };
}
