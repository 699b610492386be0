import { join } from 'node:path';
import type { ClientOptions } from '@temporalio/client';
import { createDataConverter } from '../../temporal/data-converter.ts';
import { requireRecordedKey } from '../../temporal/key-record.ts';
import { readPayloadKeys } from '../../temporal/payload-keys.ts';
import { homeFolder } from '../context.ts';

/**
 * What every client of the command line is made with.
 * @throws InvalidConfig for bad payload keys, or without the one that this home's workers encrypt with
 */
export async function clientOptions(env: NodeJS.ProcessEnv): Promise<Pick<ClientOptions, 'dataConverter'>> {
  const keys = readPayloadKeys(env);
  await requireRecordedKey(join(homeFolder(env), 'store'), keys);
  return { dataConverter: createDataConverter(keys) };
}
