import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { byteText } from '../show/units.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';

const LITTLE_SPACE = 2e9;

/**
 * Whether stack, runs and store can be written, and how much room there is. A home that is not there yet
 * stays so.
 */
export function places(home: string): Check[] {
  const store = join(home, 'store');
  return [
    writable('Home folder', home),
    ...(existsSync(store)
      ? [writable('Store', store)]
      : [note('Store', `${store} will be made by the first run`)]),
    space(home),
  ];
}

function writable(what: string, folder: string): Check {
  const there = nearest(folder);
  const probe = join(there, `.genenv-doctor-${process.pid}`);
  try {
    mkdirSync(probe);
    writeFileSync(join(probe, 'file'), '');
    return ok(what, there === folder ? folder : `${folder} (not there yet)`);
  } catch (error) {
    return missing(
      what,
      `${folder}: ${(error as Error).message}`,
      'make it writable, or set GENENV_HOME to another folder',
    );
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}

function space(home: string): Check {
  const { bavail, bsize } = statfsSync(nearest(home));
  const free = bavail * bsize;
  return free < LITTLE_SPACE
    ? missing(
        'Disk space',
        `${byteText(free)} free`,
        `free some: a run of the laptop experiment takes less than ${byteText(LITTLE_SPACE)}; \`genenv gc\` removes old checkpoints`,
      )
    : ok('Disk space', `${byteText(free)} free`);
}

function nearest(folder: string): string {
  let there = folder;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  return there;
}
