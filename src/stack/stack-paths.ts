import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Longest path of a Unix socket that every system takes (macOS 103, Linux 107 bytes). */
const SOCKET_PATH_BYTES = 100;

export interface StackPaths {
  home: string;
  store: string;
  folder: string;
  logs: string;
  record: string;
  lock: string;
  database: string;
  /** There once the database has a complete schema. */
  databaseReady: string;
  /** Profile for the Temporal CLI and for clients that read @temporalio/envconfig. */
  profile: string;
  policyServerPort: string;
  trainerSocket: string;
}

export function stackPaths(home: string): StackPaths {
  const folder = join(home, 'stack');
  const socket = join(folder, 'trainer.sock');
  const short = join(tmpdir(), `genenv-${createHash('sha256').update(home).digest('hex').slice(0, 12)}.sock`);
  return {
    home,
    store: join(home, 'store'),
    folder,
    logs: join(folder, 'logs'),
    record: join(folder, 'stack.json'),
    lock: join(folder, 'stack.lock'),
    database: join(folder, 'temporal.db'),
    databaseReady: join(folder, 'temporal.db.ready'),
    profile: join(folder, 'temporal.toml'),
    policyServerPort: join(folder, 'policy-server.port'),
    trainerSocket: Buffer.byteLength(socket) <= SOCKET_PATH_BYTES ? socket : short,
  };
}
