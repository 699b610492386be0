import { readPayloadKeys } from '../../src/temporal/payload-keys.ts';
import type { PayloadKeys } from '../../src/temporal/payload-keys.ts';

/** A key as the environment has it: its bytes follow from `fill`. */
export const keyText = (id: string, fill = id): string =>
  `${id}:${Buffer.alloc(32, fill).toString('base64')}`;

export const keysOf = (...texts: string[]): PayloadKeys =>
  readPayloadKeys({ GENENV_PAYLOAD_KEYS: texts.join(',') });
