import { createHash } from 'node:crypto';
import type { FileRef } from '../contracts/refs.ts';
import type { StagedFile } from './atomic-write.ts';
import { canonicalJson } from './canonical-json.ts';
import { fileRef } from './object-paths.ts';

const chunkChars = 1 << 16;

/** Writes records as canonical JSON Lines, in the order they come, in flat memory. @throws NotSerializable, StoreUnavailable */
export async function writeRecords(
  file: StagedFile,
  records: Iterable<object> | AsyncIterable<object>,
): Promise<FileRef> {
  const digest = createHash('sha256');
  let [bytes, count, pending] = [0, 0, ''];
  const flush = async () => {
    const chunk = Buffer.from(pending);
    digest.update(chunk);
    bytes += chunk.length;
    pending = '';
    await file.write(chunk);
  };
  for await (const record of records) {
    pending += `${canonicalJson(record)}\n`;
    count += 1;
    if (pending.length > chunkChars) await flush();
  }
  await flush();
  return fileRef(digest.digest('hex'), '.jsonl', bytes, count);
}
