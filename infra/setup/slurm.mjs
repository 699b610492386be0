// @ts-check
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { unpackPackages } from './debian-packages.mjs';
import { repository } from './locations.mjs';
import { run } from './run-command.mjs';

/**
 * Unpacks Slurm and munge from Debian's packages.
 * @param {string} folder Is made, with `bin`, `sbin`, `lib` and `plugins`, links into `root/`, and `packages.txt`
 * @param {{ lock: string }} engine
 */
export async function unpackSlurm(folder, { lock }) {
  const { packages } = JSON.parse(readFileSync(join(repository, lock), 'utf8'));
  const root = await unpackPackages(folder, packages);
  const link = (/** @type {string} */ name, /** @type {string} */ target) =>
    symlinkSync(relative(folder, target), join(folder, name));
  const [triplet] = readdirSync(join(root, 'usr/lib')).filter((name) => name.includes('-linux-'));
  const libraries = join(root, 'usr/lib', String(triplet));
  link('bin', join(root, 'usr/bin'));
  link('sbin', join(root, 'usr/sbin'));
  link('lib', libraries);
  link('plugins', join(libraries, 'slurm-wlm'));
  const env = { LD_LIBRARY_PATH: `${join(folder, 'lib')}:${join(folder, 'plugins')}` };
  await run(join(folder, 'sbin/slurmctld-wlm'), ['-V'], { env });
  await run(join(folder, 'sbin/munged'), ['--version'], { env });
}
