/** What the operator of a worker lets each run use, whatever the run's own file says. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { maxTokenCap } from '../config/experiment.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { tombstonePath } from '../store/object-paths.ts';
import { refsIn } from '../store/references.ts';
import type { Ref } from '../store/references.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { filesBelow } from '../store/shared-scan.ts';
import type { WorkflowSettings } from '../types/run-state.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';

export interface Quotas {
  /** Tokens that a run may sample. */
  maxTokens?: number;
  /** Bytes of the store that the files of a run's epochs may take. */
  maxDiskBytes?: number;
}

const units: Partial<Record<string, number>> = { '': 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

/** @throws InvalidConfig naming the variable, its value and what is allowed */
export function readQuotas({
  GENENV_MAX_TOKENS_PER_RUN: tokens,
  GENENV_MAX_DISK_PER_RUN: disk,
}: NodeJS.ProcessEnv): Quotas {
  return {
    ...(tokens && { maxTokens: readTokens(tokens) }),
    ...(disk && { maxDiskBytes: readSize(disk) }),
  };
}

function readTokens(value: string): number {
  if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
  throw new InvalidConfig(
    `GENENV_MAX_TOKENS_PER_RUN: got ${JSON.stringify(value.slice(0, 40))}; expected a whole number above 0`,
  );
}

function readSize(value: string): number {
  const [, count, unit = ''] = /^(\d{1,15}(?:\.\d{1,3})?) ?(|kB|MB|GB|TB)$/.exec(value) ?? [];
  const bytes = Math.floor(Number(count) * (units[unit] ?? NaN));
  if (bytes > 0) return bytes;
  throw new InvalidConfig(
    `GENENV_MAX_DISK_PER_RUN: got ${JSON.stringify(value.slice(0, 40))}; expected a size above 0, such as 200 GB`,
  );
}

/** What a run's last epoch has used of its quotas. */
interface Use {
  /** The lines of its ledger. */
  lines: readonly unknown[];
  /** Tokens that were sampled until then: its own, and `inherited`. */
  tokens: number;
  /** Those that the runs have sampled which it was forked from. */
  inherited: number;
}

/**
 * A run's settings within its quotas: the smaller of its file's limit of tokens and the quota's, which is for
 * the run's own tokens, and no further token once its files take more than they may. The workflow ends the run
 * as it does at the file's limit.
 * @returns `reason` if a quota is used up, and the file's own limit is not
 * @throws StoreUnavailable
 */
export async function settingsWithinQuotas(
  settings: WorkflowSettings,
  { maxTokens = Infinity, maxDiskBytes }: Quotas,
  store: Pick<ObjectStore, 'root' | 'path'>,
  { lines, tokens, inherited }: Use,
): Promise<{ settings: WorkflowSettings; reason: string | null }> {
  const ownLimit = settings.maxTokens ?? Infinity;
  const diskBytes = maxDiskBytes === undefined ? 0 : await bytesBeyond(lines, store, maxDiskBytes);
  const limit = Math.min(ownLimit, maxTokens + inherited, diskBytes > 0 ? Math.max(1, tokens) : Infinity);
  const within = { ...settings, maxTokens: limit === Infinity ? null : Math.min(limit, maxTokenCap) };
  if (tokens < limit || tokens >= ownLimit) return { settings: within, reason: null };
  const reason =
    diskBytes > 0
      ? `its files take ${diskBytes} bytes, and its worker lets a run have ${maxDiskBytes} (GENENV_MAX_DISK_PER_RUN)`
      : `it has sampled ${tokens - inherited} tokens, and its worker lets a run sample ${maxTokens} ` +
        '(GENENV_MAX_TOKENS_PER_RUN)';
  return { settings: within, reason };
}

/** Bytes of the stored objects that lines name, each once; 0 if they are at most `limit`. */
async function bytesBeyond(
  lines: readonly unknown[],
  store: Pick<ObjectStore, 'root' | 'path'>,
  limit: number,
): Promise<number> {
  const objects = new Map([...refsIn(lines)].map(({ ref }) => [ref.sha256, ref]));
  const total = (isCounted: (ref: Ref) => boolean): number =>
    [...objects.values()].reduce((sum, ref) => sum + (isCounted(ref) ? ref.bytes : 0), 0);
  // What retention has pruned takes nothing any more; that takes a look at the store.
  if (total(() => true) <= limit) return 0;
  const stored = total(await storedObjects(store));
  return stored > limit ? stored : 0;
}

/**
 * Tells which objects a store still has. Of a bucket's objects this disk has those that were used here: which of them
 * retention has pruned is known by the notes that it leaves.
 */
async function storedObjects(store: Pick<ObjectStore, 'root' | 'path'>): Promise<(ref: Ref) => boolean> {
  const folder = join(store.root, 'objects');
  if (sharedPlace(folder) === undefined) return (ref) => existsSync(store.path(ref));
  const tombstones = new Set((await filesBelow(folder)).filter((file) => file.endsWith('.pruned.json')));
  return (ref) => !tombstones.has(tombstonePath(store.root, ref));
}
