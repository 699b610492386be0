import { stat } from 'node:fs/promises';

/** Changes when one of some files is written, made or removed. */
export async function fileStamp(files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return stats.map((entry) => (entry === null ? '-' : `${entry.size}.${entry.mtimeMs}`)).join(' ');
}
