import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Settings and source files in one short text: a process whose fingerprint differs runs something else than we would start now. */
export function fingerprint(settings: unknown, sources: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const folder of sources) {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(ts|py|json)$/.test(name),
    );
    for (const name of names.sort()) {
      const { size, mtimeMs } = statSync(join(folder, name));
      hash.update(`${name} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest('hex').slice(0, 16);
}
