/** Files that the file of a run names: only those under folders that the operator of the worker permits. */
import { constants } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { show } from '../validation/issue-messages.ts';
import { errorCode, InvalidArtifact } from './errors.ts';
import { openPlainFile } from './plain-files.ts';

const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Reads a file that a field names.
 * @param field for errors: `world.tasksFile.path`
 * @throws InvalidConfig naming field and path, never the content
 */
export type ReadDataFile = (field: string, path: string) => Promise<Buffer>;

/** @param folders that files may be in */
export function dataFileReader(folders: readonly string[]): ReadDataFile {
  return async (field, path) => {
    const real = await permittedPath(field, path, { folders, variable: 'GENENV_DATA' });
    try {
      const handle = await openPlainFile(real, constants.O_RDONLY);
      try {
        const { size } = await handle.stat();
        if (size > MAX_BYTES)
          throw refusal(field, path, `it has ${size} bytes; expected at most ${MAX_BYTES}`);
        return await handle.readFile();
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (error instanceof InvalidArtifact) throw refusal(field, path, 'it is not a file');
      const code = errorCode(error);
      throw code === undefined ? error : refusal(field, path, `it cannot be read (${code})`);
    }
  };
}

/**
 * The real path of a file or folder that a field names.
 * @param variable with which the operator sets the folders
 * @throws InvalidConfig if it is not under one of the folders, whether it exists or not, or does not exist
 */
export async function permittedPath(
  field: string,
  path: string,
  { folders, variable }: { folders: readonly string[]; variable: string },
): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  for (const folder of folders) {
    const root = await realpath(folder).catch(() => resolve(folder));
    if (real !== undefined && isInside(root, real)) return real;
    if (real === undefined && isInside(root, resolve(path))) throw refusal(field, path, 'it does not exist');
  }
  throw refusal(
    field,
    path,
    `workers read only what is in ${folders.join(', ')}: move it there, or have ${variable} name its folder`,
  );
}

export function isInside(folder: string, path: string): boolean {
  const from = relative(folder, path);
  return from !== '' && from !== '..' && !from.startsWith(`..${sep}`) && resolve(folder, from) === path;
}

export const refusal = (field: string, path: string, reason: string): InvalidConfig =>
  new InvalidConfig(`experiment: ${field}: got ${show(path)}; ${reason}`);
