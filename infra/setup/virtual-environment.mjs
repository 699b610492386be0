// @ts-check
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onPath, repository } from './locations.mjs';
import { CommandFailed, run } from './run-command.mjs';
import { buildingFolder } from './unfinished.mjs';

const uvRequirements = join(repository, 'infra/setup/uv.txt');

/** Written last of all: a folder without it is one whose installation was killed. */
const stamp = (/** @type {string} */ folder) => join(folder, 'genenv-ready.json');

/** @param {string} folder */
export const isStamped = (folder) => existsSync(stamp(folder));

/** @param {string} folder */
export const writeStamp = (folder) =>
  writeFileSync(stamp(folder), JSON.stringify({ at: new Date().toISOString() }));

/**
 * Whether the environment was installed to its end and its Python still runs: the one that it was made with
 * may have been removed.
 * @param {string} environment
 * @returns {Promise<boolean>}
 */
export async function environmentReady(environment) {
  if (!isStamped(environment)) return false;
  return run(join(environment, 'bin', 'python'), ['-P', '-c', 'pass']).then(
    () => true,
    () => false,
  );
}

/**
 * Makes an environment whose packages `install` brings, whole or not at all.
 * @param {string} environment
 * @param {(pip: (args: string[]) => Promise<string>, folder: string) => Promise<void>} install `pip` takes
 * the arguments of `pip install`.
 */
export async function makeEnvironment(environment, install) {
  const building = buildingFolder(environment);
  try {
    await run(await basePython(), ['-P', '-m', 'venv', building]);
    await install(await installer(join(building, 'bin', 'python')), building);
    writeStamp(building);
    rmSync(environment, { recursive: true, force: true });
    renameSync(building, environment);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

/**
 * A Python of 3.11 or newer that can make environments.
 * @returns {Promise<string>}
 */
async function basePython() {
  for (const name of ['python3', 'python3.12', 'python3.11', 'python3.13', 'python']) {
    const path = onPath(name);
    if (path === null) continue;
    try {
      // Not with modules of the working directory; -P is newer than some that are looked at.
      await run(path, [
        '-I',
        '-c',
        'import sys, venv, ensurepip; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else 1)',
      ]);
      return path;
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
    }
  }
  throw new Error('no Python from 3.11 to 3.13 with its venv module was found on the PATH');
}

/**
 * pip's settings under the names that uv reads, and like pip the machine's own certificates: a proxy may have
 * its own.
 */
function uvSettings() {
  const {
    PIP_INDEX_URL,
    PIP_EXTRA_INDEX_URL,
    PIP_CERT,
    UV_DEFAULT_INDEX,
    UV_INDEX,
    UV_SYSTEM_CERTS = 'true',
    UV_NATIVE_TLS = UV_SYSTEM_CERTS,
    SSL_CERT_FILE,
  } = process.env;
  return {
    UV_DEFAULT_INDEX: UV_DEFAULT_INDEX ?? PIP_INDEX_URL,
    UV_INDEX: UV_INDEX ?? PIP_EXTRA_INDEX_URL,
    SSL_CERT_FILE: SSL_CERT_FILE ?? PIP_CERT,
    UV_SYSTEM_CERTS,
    // Its older name.
    UV_NATIVE_TLS,
  };
}

/**
 * An installer for the environment: uv (seconds) where it can be had, else pip (minutes).
 * @param {string} python
 * @returns {Promise<(args: string[]) => Promise<string>>}
 */
async function installer(python) {
  const pip = (/** @type {string[]} */ args) =>
    run(python, ['-P', '-m', 'pip', 'install', '--no-input', ...args]);
  let uv = onPath('uv');
  if (uv === null) {
    try {
      await pip(['--require-hashes', '-r', uvRequirements]);
      uv = join(dirname(python), 'uv');
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      return pip;
    }
  }
  const command = uv;
  return (args) => run(command, ['pip', 'install', '--python', python, ...args], { env: uvSettings() });
}
