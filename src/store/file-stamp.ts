import { stat } from 'node:fs/promises';

/** Changes when one of some files is written, made or removed, or an entry of one of some folders is. */
export async function fileStamp(paths: readonly string[]): Promise<string> {
  const stats = await Promise.all(paths.map((path) => stat(path).catch(() => null)));
  return stats.map((entry) => (entry === null ? '-' : `${entry.size}.${entry.mtimeMs}`)).join(' ');
}
