/** A damaged file that was handled; `file` is absolute. */
export type Damage = { file: string; problem: string };
export type OnDamage = (damage: Damage) => void;

/**
 * Errors of the store. `name` is the failure type that activities report to Temporal; `retryable` says
 * whether the same call can succeed later without any other change.
 */
abstract class StoreError extends Error {
  abstract override readonly name: string;
  abstract readonly retryable: boolean;
}

/** The disk refuses: full, read-only, not permitted. Retryable: it can be repaired while the run waits. */
export class StoreUnavailable extends StoreError {
  override readonly name = 'StoreUnavailable';
  readonly retryable = true;
  readonly path: string;

  constructor(path: string, remedy: string, cause: NodeJS.ErrnoException) {
    super(`Cannot use ${path}: ${cause.code ?? cause.message}. ${remedy}`, { cause });
    this.path = path;
  }
}

const REMEDY =
  'Run `genenv verify` to see all that is damaged; ' +
  'what a phase made is made again when its key is looked up.';

/** A stored file is missing, torn or altered. */
export class InvalidArtifact extends StoreError {
  override readonly name = 'InvalidArtifact';
  readonly retryable = false;
  readonly file: string;
  readonly expected: string | undefined;
  readonly actual: string | undefined;
  readonly problem: string;
  /** Of a ledger: lines before the one that is damaged. */
  readonly line: number | undefined;

  constructor(
    file: string,
    problem: string,
    hashes: { expected?: string; actual?: string; line?: number } = {},
    remedy = REMEDY,
  ) {
    const actual = hashes.actual === undefined ? '' : `, found ${hashes.actual}`;
    const detail = hashes.expected === undefined ? '' : ` (expected ${hashes.expected}${actual})`;
    super(`Invalid artifact ${file}: ${problem}${detail}. ${remedy}`);
    this.file = file;
    this.problem = `${problem}${detail}`;
    this.expected = hashes.expected;
    this.actual = hashes.actual;
    this.line = hashes.line;
  }
}

/** Another attempt has since claimed this work: this one must not write any more. */
export class Superseded extends StoreError {
  override readonly name = 'Superseded';
  readonly retryable = false;
}

/** An epoch is in the ledger already, with different content. */
export class LedgerConflict extends StoreError {
  override readonly name = 'LedgerConflict';
  readonly retryable = false;
}

/** A value that JSON cannot carry unchanged (undefined, NaN, a class instance …). */
export class NotSerializable extends StoreError {
  override readonly name = 'NotSerializable';
  readonly retryable = false;
}

const remedies: Record<string, string> = {
  ENOSPC:
    'The disk is full: free space there (`genenv gc` prunes old checkpoints); the run continues by itself.',
  EDQUOT:
    'The disk quota is used up: free space there (`genenv gc` prunes old checkpoints); the run continues by itself.',
  EROFS: 'The file system is mounted read-only: remount it writable, or set another store folder.',
  EACCES: 'Permission denied: give this user write access to it, or set another store folder.',
  EPERM: 'Operation not permitted: give this user write access to it, or set another store folder.',
  EIO: 'The device reports an input/output error: check the disk.',
  EMFILE: 'Too many open files: raise the limit (`ulimit -n`).',
  ENFILE: 'Too many open files on this machine: raise the limit.',
  ESTALE: 'The network file system lost the file handle: check the mount.',
};

/** Runs file work. @throws StoreUnavailable in place of errors that only the machine's owner can repair */
export async function withDiskErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const remedy = remedies[errorCode(error) ?? ''];
    throw remedy === undefined ? error : new StoreUnavailable(path, remedy, error as NodeJS.ErrnoException);
  }
}

/** The system's code of a file error, such as ENOENT. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** The result of `work`, or undefined if the file does not exist. */
export async function undefinedIfMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}
