import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface StackLock {
  release(): void;
}

/**
 * Takes the lock of a home's stack, or gives null where another process has it. The kernel holds it and lets go of it
 * when the process ends, however it ends: there is no stale lock. (Node has no flock; SQLite's exclusive lock is one.)
 */
export function takeStackLock(path: string): StackLock | null {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && error.message.includes('database is locked')) return null;
    throw new Error(
      `stack lock ${path}: ${error instanceof Error ? error.message : String(error)}; remove the file when no stack runs`,
      { cause: error },
    );
  }
  return { release: () => database.close() };
}
