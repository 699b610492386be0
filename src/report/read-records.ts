import type { FileRef } from '../contracts/refs.ts';
import { InvalidArtifact, StoreUnavailable } from '../store/errors.ts';
import type { ObjectStore } from '../store/object-store.ts';

/** Records of some files, those that `keep` says; null where a file is pruned, missing or damaged, which `gaps` then tells. */
export async function readRecords<T>(
  store: ObjectStore,
  refs: readonly FileRef[],
  what: string,
  gaps: string[],
  keep: (record: T) => boolean = () => true,
): Promise<T[] | null> {
  const kept: T[] = [];
  try {
    for (const ref of refs)
      for await (const record of store.records<T>(ref)) if (keep(record)) kept.push(record);
    return kept;
  } catch (error) {
    if (!(error instanceof InvalidArtifact || error instanceof StoreUnavailable)) throw error;
    gaps.push(
      `${what}: ${error instanceof InvalidArtifact ? error.problem.replace(/ \(expected.*\)$/s, '') : error.message}.`,
    );
    return null;
  }
}
