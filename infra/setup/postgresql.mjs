// @ts-check
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { unpackPackages } from './debian-packages.mjs';
import { repository } from './locations.mjs';
import { run } from './run-command.mjs';

/**
 * Unpacks PostgreSQL from Debian's packages.
 * @param {string} folder Is made, with `root/`, the packages' files; `bin` and `lib`, links into it; and
 * `packages.txt`, which names the versions.
 * @param {{ lock: string }} engine
 */
export async function unpackPostgresql(folder, { lock }) {
  const { least, packages } = JSON.parse(readFileSync(join(repository, lock), 'utf8'));
  const major = await packagedMajor();
  if (major < least) throw new Error(`apt offers PostgreSQL ${major}; Temporal needs ${least} or newer`);
  const wanted = packages.map((/** @type {string} */ name) => name.replace('{major}', String(major)));
  const root = await unpackPackages(folder, wanted);
  const link = (/** @type {string} */ name, /** @type {string} */ target) =>
    symlinkSync(relative(folder, target), join(folder, name));
  link('bin', join(root, 'usr/lib/postgresql', String(major), 'bin'));
  const [triplet] = readdirSync(join(root, 'usr/lib')).filter((name) => name.includes('-linux-'));
  link('lib', join(root, 'usr/lib', String(triplet)));
  await run(join(folder, 'bin/postgres'), ['--version'], { env: { LD_LIBRARY_PATH: join(folder, 'lib') } });
}

/** The major version that `apt install postgresql` would install. @returns {Promise<number>} */
async function packagedMajor() {
  const shown = await run('apt-cache', ['show', '--no-all-versions', 'postgresql']);
  const major = /^Depends:.*\bpostgresql-(\d+)\b/m.exec(shown)?.[1];
  if (major === undefined)
    throw new Error('apt knows no package postgresql; `apt-get update` reads its lists');
  return Number(major);
}
