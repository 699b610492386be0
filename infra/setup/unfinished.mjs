// @ts-check
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const MARK = '.building-';

/**
 * A new folder to build `target` in, beside it, so that one rename finishes it. What killed set-ups left
 * there goes first.
 * @param {string} target
 */
export function buildingFolder(target) {
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  const prefix = `${basename(target)}${MARK}`;
  for (const name of readdirSync(parent)) {
    if (name.startsWith(prefix) && !alive(Number(name.slice(prefix.length))))
      rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, `${prefix}${process.pid}`);
  mkdirSync(folder);
  return folder;
}

/** @param {number} pid */
function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
