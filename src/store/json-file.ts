import { readFile } from 'node:fs/promises';
import { ifExists, InvalidArtifact, onDisk } from './errors.ts';

/**
 * The JSON of a file that a person may have edited; undefined if there is no such file. `remedy`: what to do where it is no JSON.
 * @throws InvalidArtifact if it is no JSON
 * @throws StoreUnavailable
 */
export async function readJsonFile<T>(file: string, remedy: string): Promise<T | undefined> {
  const text = await onDisk(file, () => ifExists(readFile(file, 'utf8')));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new InvalidArtifact(file, `not JSON: ${String(error)}`, {}, remedy);
  }
}
