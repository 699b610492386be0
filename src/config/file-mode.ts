/** Who may read the files of this process: prompts, traces, checkpoints and settings are nobody else's. */
import { chmodSync, statSync } from 'node:fs';
import { InvalidConfig } from '../validation/invalid-config.ts';

const OWNER_ONLY = 0o077;
/** Sticky, setgid, or written by all: /tmp, or a team's folder. */
const SHARED = 0o3002;

let mask = OWNER_ONLY;

/**
 * Sets the mask of new files and folders: only the owner reads them, unless the operator says otherwise.
 * @param variable `GENENV_UMASK`, three octal digits, such as 027 for a group that reads
 * @throws InvalidConfig
 */
export function setFileMask(variable: string | undefined): void {
  if (variable !== undefined && !/^0?[0-7]{3}$/.test(variable))
    throw new InvalidConfig(
      `GENENV_UMASK: got ${JSON.stringify(variable)}; expected three octal digits, such as 077`,
    );
  mask = variable === undefined ? OWNER_ONLY : Number.parseInt(variable, 8);
  process.umask(mask);
}

/** Closes a folder of an earlier version to others, as the mask says, unless it is made for several users. */
export function closeFolder(folder: string): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  const mode = (stats?.mode ?? 0) & 0o7777;
  if (
    stats?.isDirectory() === true &&
    stats.uid === process.getuid?.() &&
    (mode & mask) !== 0 &&
    (mode & SHARED) === 0
  )
    chmodSync(folder, mode & ~mask);
}
