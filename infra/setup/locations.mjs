// @ts-check
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Version of the Temporal executable that set-up fetches where none is on the PATH. */
export const TEMPORAL_VERSION = '1.5.1';

/** Folder of this repository. */
export const repository = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Folder for what set-up installs once for all checkouts of one user.
 * @returns {string}
 */
export function cacheRoot() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'genenv');
}

/**
 * Folder of the Python environment for the locked requirements of trainer/: another lock, another folder.
 * @returns {string}
 */
export function pythonEnvironment() {
  return environmentFor('python', 'trainer/requirements.txt');
}

/**
 * Locked requirements of the Python packages that judge benchmarks, each engine in an environment of its own.
 */
export const engines = {
  alfworld: 'src/benchmarks/alfworld/requirements.txt',
  bfcl: 'src/benchmarks/bfcl/requirements.txt',
};

/** @typedef {keyof typeof engines} Engine */

/**
 * Folder of an engine's Python environment: another lock, another folder.
 * @param {Engine} engine
 * @returns {string}
 */
export function engineEnvironment(engine) {
  return environmentFor(engine, engines[engine]);
}

/**
 * @param {string} name
 * @param {string} lock Path in the repository.
 */
function environmentFor(name, lock) {
  return join(
    cacheRoot(),
    `${name}-${createHash('sha256')
      .update(readFileSync(join(repository, lock)))
      .digest('hex')
      .slice(0, 12)}`,
  );
}

/**
 * The Python that has the packages of trainer/; GENENV_PYTHON wins.
 * @returns {string}
 */
export function pythonPath() {
  return process.env.GENENV_PYTHON || join(pythonEnvironment(), 'bin', 'python');
}

/**
 * Where set-up puts a Temporal executable.
 * @returns {string}
 */
export function cachedTemporal() {
  return join(cacheRoot(), `temporal-${TEMPORAL_VERSION}`, 'temporal');
}

/**
 * The Temporal executable: GENENV_TEMPORAL, else `temporal` on the PATH, else the one of set-up (which may
 * not be there yet).
 * @returns {string}
 */
export function temporalPath() {
  return process.env.GENENV_TEMPORAL || onPath('temporal') || cachedTemporal();
}

/**
 * The first executable of that name on the PATH.
 * @param {string} name
 * @returns {string | null}
 */
export function onPath(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && existsSync(path) && isExecutable(path)) return path;
  }
  return null;
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
