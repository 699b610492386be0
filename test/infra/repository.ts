import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';

export const read = (path: string): string => readFileSync(join(repository, path), 'utf8');

/** Files below a folder of the repository, as paths from its root. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(repository, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)));
}

export function exists(path: string): boolean {
  return statSync(join(repository, path), { throwIfNoEntry: false }) !== undefined;
}

/** The value. @throws Error if it is missing, which a well-formed file rules out */
export function defined<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('missing');
  return value;
}
