/** What only the owner of a stack may know and use: the tokens of its servers, and the place of its socket. */
import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { StackPaths, StackRecord, StackTokens } from './record.ts';

export interface StackSecrets {
  tokens: StackTokens;
  trainerSocket: string;
}

/** Maximum length of the path of a Unix socket on every system (macOS 103, Linux 107 bytes). */
const MAX_SOCKET_PATH_BYTES = 100;

/**
 * The secrets of a stack: those of its record, which processes of an earlier stack may still use, else new ones.
 * The socket lies in the stack's folder; if that path is too long, in a folder of a random name that its owner
 * alone may enter.
 */
export function stackSecrets(
  { folder }: StackPaths,
  { tokens, trainerSocket }: Pick<StackRecord, 'tokens' | 'trainerSocket'>,
): StackSecrets {
  return {
    tokens: tokens ?? { policyServer: randomToken(), vllm: randomToken() },
    trainerSocket: socketPath(join(folder, 'trainer.sock'), trainerSocket),
  };
}

const randomToken = (): string => randomBytes(32).toString('base64url');

function socketPath(wanted: string, recorded: string | null): string {
  if (Buffer.byteLength(wanted) <= MAX_SOCKET_PATH_BYTES) return wanted;
  if (recorded !== null && recorded !== wanted && isPrivateFolder(dirname(recorded))) return recorded;
  return join(mkdtempSync(join(tmpdir(), 'genenv-')), 'trainer.sock');
}

/** Whether a folder is there, is no link, and belongs to this user alone. */
function isPrivateFolder(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

/** Removes the folder that was made for the socket alone. */
export function removeSocketFolder({ folder }: StackPaths, { trainerSocket }: StackSecrets): void {
  if (dirname(trainerSocket) !== folder) rmSync(dirname(trainerSocket), { recursive: true, force: true });
}

/** A name for a token that does not tell it: a process that has another one is another process. */
export const tokenName = (token: string): string =>
  createHash('sha256').update(token).digest('hex').slice(0, 16);
