/**
 * Where the operator keeps runs and artifacts: `store.json` of the home folder names a bucket; without it, they
 * are in the home folder. Files of runs cannot say it, and no credentials are in it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { parseFile } from '../validation/parse-file.ts';
import { plainHttpUrl } from '../validation/server-address.ts';

const storeSchema = z
  .strictObject({
    type: z.literal('s3').describe('A bucket of Amazon S3, or of a server that speaks as it does.'),
    bucket: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
        'expected the name of a bucket: 3 to 63 of a-z, 0-9, . and -',
      )
      .describe('Name of the bucket, which exists.'),
    prefix: z
      .string()
      .max(200)
      .regex(
        /^([A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*)?$/,
        'expected names with / between them, such as team/genenv',
      )
      .default('')
      .describe('Before each key.'),
    endpoint: plainHttpUrl.optional().describe('Address of the server; left out = Amazon S3.'),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/, 'expected a region such as eu-central-1')
      .optional()
      .describe('Region of the bucket; left out = us-east-1.'),
    cacheGigabytes: z
      .number()
      .positive()
      .max(1e6)
      .optional()
      .describe('What copies of objects may take on this disk; left out = no limit.'),
  })
  .describe('The store of a home folder in a bucket.');

export type StoreSettings = z.infer<typeof storeSchema>;

/** The home folder's store; undefined if its disk is all there is. @throws InvalidConfig naming file and field */
export function readStoreSettings(home: string): StoreSettings | undefined {
  const file = join(home, 'store.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new InvalidConfig(`${file}: cannot be read (${code ?? String(error)})`);
  }
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new InvalidConfig(`${file}: expected JSON, such as {"type": "s3", "bucket": "my-runs"}`);
  }
  return parseFile('store', storeSchema, raw, 'store.json');
}
