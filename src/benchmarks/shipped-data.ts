import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Missing } from './suite.ts';

/** Files of a folder as text, in the order asked for, and the sha256 over their bytes one after another. */
export interface ReadData {
  texts: readonly string[];
  dataHash: string;
}

/** Reads data that comes with the project, or says which file is missing. */
export async function readShipped(folder: string, files: readonly string[]): Promise<ReadData | Missing> {
  const hash = createHash('sha256');
  const texts: string[] = [];
  for (const file of files) {
    const path = join(folder, file);
    let bytes: Buffer;
    try {
      bytes = await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return { missing: `${path}, which comes with this project: check it out again` };
    }
    hash.update(bytes);
    texts.push(bytes.toString('utf8'));
  }
  return { texts, dataHash: hash.digest('hex') };
}
