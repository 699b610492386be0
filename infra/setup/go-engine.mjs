// @ts-check
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { onPath, repository } from './locations.mjs';
import { run } from './run-command.mjs';

/**
 * @typedef {object} GoLock
 * @property {string} module
 * @property {string} version
 * @property {string} sum Of the module's archive, as the checksum database has it.
 * @property {string} toolchain The Go that it asks for; an older one downloads it, by its hash too.
 * @property {Record<string, string>} commands Names of executables, and their packages in the module.
 */

/**
 * Builds an engine from source. Go checks every module against its checksum database, and the engine's own
 * archive has to have the sum of the lock.
 * @param {string} folder Is made, with `bin/` in it.
 * @param {{ lock: string }} engine
 */
export async function buildGoEngine(folder, { lock: lockFile }) {
  const go = onPath('go');
  if (go === null) throw new Error('no Go was found on the PATH');
  const lock = /** @type {GoLock} */ (JSON.parse(readFileSync(join(repository, lockFile), 'utf8')));
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const env = { GOBIN: bin, GOTOOLCHAIN: lock.toolchain, GOFLAGS: '-trimpath', GOWORK: 'off' };
  const module = `${lock.module}@${lock.version}`;
  const downloaded = JSON.parse(await run(go, ['mod', 'download', '-json', module], { env, cwd: folder }));
  if (downloaded.Sum !== lock.sum)
    throw new Error(`${module} has the sum ${downloaded.Sum}; ${lockFile} names ${lock.sum}`);
  for (const [name, path] of Object.entries(lock.commands)) {
    await run(go, ['install', `${lock.module}/${path}@${lock.version}`], { env, cwd: folder });
    renameSync(join(bin, String(path.split('/').at(-1))), join(bin, name));
    await run(join(bin, name), ['--version']);
  }
}
