import { join } from 'node:path';
import { z } from 'zod';
import { atomicWrite } from '../store/atomic-write.ts';
import { readJsonFile } from '../store/json-files.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { PayloadKeys } from './payload-keys.ts';

const recordSchema = z.object({ id: z.string().max(64), check: z.string().max(16) });

const recordFile = (store: string): string => join(store, 'payload-key.json');

/**
 * Refuses to begin without the key that workers of this store encrypt with: a process that has lost its keys
 * would write the next payloads as plain text, and could not read the earlier ones.
 * @throws InvalidConfig naming the key and what to do
 */
export async function requireRecordedKey(store: string, keys: PayloadKeys): Promise<void> {
  const file = recordFile(store);
  const remedy = `Remove it if payloads are not to be encrypted any more.`;
  const stored = await readJsonFile<unknown>(file, remedy);
  if (stored === undefined) return;
  const { success, data: record } = recordSchema.safeParse(stored);
  if (!success) throw new InvalidConfig(`${file}: expected the id and check of a key. ${remedy}`);
  const key = keys.find(({ id }) => id === record.id);
  const id = JSON.stringify(record.id);
  if (key === undefined)
    throw new InvalidConfig(
      `GENENV_PAYLOAD_KEYS: the key ${id} is missing, with which the workers of this store encrypt payloads; ` +
        `set it again (or GENENV_PAYLOAD_KEYS_FILE). If it is gone for good, remove ${file}: what it has ` +
        'encrypted stays unreadable, and `genenv resume` starts each run again from its files',
    );
  if (key.check !== record.check)
    throw new InvalidConfig(
      `GENENV_PAYLOAD_KEYS: the key ${id} is another than the one with which the workers of this store encrypt ` +
        'payloads; set the earlier one, and give a new key a new id',
    );
}

/** Records the key that encrypts from here on; nothing without keys. @throws StoreUnavailable */
export async function recordKey(store: string, [key]: PayloadKeys): Promise<void> {
  if (key === undefined) return;
  await atomicWrite(recordFile(store), `${JSON.stringify({ id: key.id, check: key.check })}\n`);
}
