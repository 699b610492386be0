// @ts-check
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run-command.mjs';

/**
 * Unpacks Debian's packages, which works without being root and changes nothing of the system. apt checks each
 * package against the hashes of its signed lists.
 * @param {string} folder Is made, with `packages.txt`, which names the versions
 * @param {string[]} packages
 * @returns {Promise<string>} `root/`, the packages' files
 */
export async function unpackPackages(folder, packages) {
  const names = [...new Set([...packages, ...(await missingFor(packages))])];
  const [archives, root] = [join(folder, 'archives'), join(folder, 'root')];
  mkdirSync(archives, { recursive: true });
  await run('apt-get', ['download', ...names], { cwd: archives });
  const files = readdirSync(archives).sort();
  for (const file of files) await run('dpkg-deb', ['--extract', join(archives, file), root]);
  rmSync(archives, { recursive: true });
  writeFileSync(join(folder, 'packages.txt'), `${files.join('\n')}\n`);
  return root;
}

/**
 * What these packages need and this system lacks.
 * @param {string[]} packages
 * @returns {Promise<string[]>}
 */
async function missingFor(packages) {
  const simulated = await run('apt-get', ['install', '--simulate', '--no-install-recommends', ...packages]);
  return [...simulated.matchAll(/^Inst (\S+)/gm)].map(([, name]) => String(name));
}
