// @ts-check
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './locations.mjs';
import { run } from './run-command.mjs';

/**
 * Unpacks Prometheus and promtool from Debian's package, which works without being root and changes nothing of
 * the system. apt checks the package against the hashes of its signed lists.
 * @param {string} folder Is made, with `bin/` and `packages.txt`, which names the version.
 * @param {{ lock: string }} engine
 */
export async function unpackPrometheus(folder, { lock }) {
  const { packages } = JSON.parse(readFileSync(join(repository, lock), 'utf8'));
  const [archives, root] = [join(folder, 'archives'), join(folder, 'root')];
  mkdirSync(archives, { recursive: true });
  await run('apt-get', ['download', ...packages], { cwd: archives });
  const files = readdirSync(archives).sort();
  for (const file of files) await run('dpkg-deb', ['--extract', join(archives, file), root]);
  rmSync(archives, { recursive: true });
  writeFileSync(join(folder, 'packages.txt'), `${files.join('\n')}\n`);
  symlinkSync(join('root', 'usr', 'bin'), join(folder, 'bin'));
  for (const name of ['prometheus', 'promtool']) await run(join(folder, 'bin', name), ['--version']);
}
