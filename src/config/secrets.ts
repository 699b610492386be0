/** Secrets of this process: from its environment, or from files that the environment names. */
import { readFileSync } from 'node:fs';
import { InvalidConfig } from '../validation/invalid-config.ts';

const MAX_SECRET_LENGTH = 16_384;

/**
 * The secret under a name: the variable's value, or else the content of the file that `<NAME>_FILE` names,
 * read at each call, so that a file may be replaced while the process runs. Undefined if neither is set.
 * @throws InvalidConfig naming the variable, never the value, if it is no printable text on one line
 */
export function readSecret(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = environment[name];
  if (value !== undefined) return printable(value, name);
  const file = environment[`${name}_FILE`];
  return file === undefined ? undefined : readSecretFile(file, `${name}_FILE`);
}

/**
 * A secret that is the content of a file, without white space around it.
 * @param field that names the file, for errors
 * @throws InvalidConfig naming field and file, never the content
 */
export function readSecretFile(file: string, field: string): string {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new InvalidConfig(`${field}: got ${JSON.stringify(file)}, which cannot be read (${code})`);
  }
  return printable(content.trim(), `${field}: the content of ${file}`);
}

/** A header refuses anything else, and would quote it. */
function printable(value: string, what: string): string {
  if (value.length <= MAX_SECRET_LENGTH && /^[\x21-\x7e]+$/.test(value)) return value;
  throw new InvalidConfig(
    `${what}: expected 1 to ${MAX_SECRET_LENGTH} printable ASCII characters without spaces or line breaks`,
  );
}
