// @ts-check
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onPath, repository } from './locations.mjs';
import { run } from './run-command.mjs';

/**
 * @typedef {{ packages: Record<string, { version?: string, integrity?: string, optional?: boolean,
 * devOptional?: boolean }> }} Lock
 */

/**
 * Whether node_modules holds what package-lock.json names. npm writes node_modules/.package-lock.json last of
 * all, so an installation that was killed, or that belongs to another lock, does not pass.
 * @param {string} folder
 */
export function nodePackagesReady(folder) {
  const installedLock = join(folder, 'node_modules/.package-lock.json');
  if (!existsSync(installedLock) || !existsSync(nodeLink(folder))) return false;
  const wanted = read(join(folder, 'package-lock.json'));
  const installed = read(installedLock);
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    if (!found) return entry.optional === true || entry.devOptional === true;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/**
 * The Node that everything runs on. On Linux the lock has it, with its hash, and npm makes this link.
 * @param {string} folder
 */
const nodeLink = (folder) => join(folder, 'node_modules/.bin/node');

/** Runs TypeScript without a flag. */
const MIN_NODE = 24;

/**
 * Links the Node that runs this, or the one on the PATH, where the lock has none for the machine.
 * @param {string} folder
 * @param {(string | null)[]} [candidates]
 * @throws Error if neither is new enough
 */
export async function linkNode(folder, candidates = [process.execPath, onPath('node')]) {
  const link = nodeLink(folder);
  if (existsSync(link)) return;
  for (const path of candidates) {
    if (path === null) continue;
    const version = (await run(path, ['--version'])).trim();
    if (!(Number(/^v(\d+)\./.exec(version)?.[1]) >= MIN_NODE)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(path, link);
    return;
  }
  throw new Error(
    `there is no locked Node for ${process.platform} on ${process.arch}, and none of version ${MIN_NODE} or newer on the PATH; install one`,
  );
}

/** @param {string} path */
function read(path) {
  const lock = /** @type {Lock} */ (JSON.parse(readFileSync(path, 'utf8')));
  return lock.packages;
}

/** @type {import('./steps.mjs').Step} */
export const nodePackages = {
  name: 'Node packages',
  doing: 'installing from package-lock.json with npm ci',
  ready: async () => nodePackagesReady(repository),
  async run() {
    const folder = join(repository, 'node_modules');
    if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error(
        `${folder} is a link, and npm ci would empty the folder that it points to; remove the link, or install there`,
      );
    const npm = process.env.npm_execpath;
    const args = ['ci', '--no-progress'];
    // Under `npm start`, the npm that runs us; else the one on the PATH.
    if (npm && /\.c?js$/.test(npm)) await run(process.execPath, [npm, ...args], { cwd: repository });
    else await run('npm', args, { cwd: repository });
    await linkNode(repository);
    if (!nodePackagesReady(repository))
      throw new Error(
        'npm ci ended well, but node_modules does not hold what package-lock.json names (is npm told to skip scripts or development packages?)',
      );
  },
  remedy:
    'check that the npm registry can be reached (`npm ping`), and that neither NODE_ENV=production nor ignore-scripts is set; then run the command again',
};
