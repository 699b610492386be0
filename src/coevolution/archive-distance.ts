import { mean, requireInteger } from './domain.ts';
import { editDistance } from './edit-distance.ts';

/** Entries of the archive that a batch is compared with, the newest. */
export const ARCHIVE_CAPACITY = 512;

/**
 * Novelty of a batch: the mean over its tasks of the edit distance to the nearest task of the archive, in [0, 1];
 * 0 when all are repeats, null where batch or archive is empty. `archive` is oldest first; only its newest `capacity`
 * distinct entries count, so the cost grows with the batch and not with the run: batch x capacity x length² / 32. Give it
 * the worlds' canonical texts, not rendered prompts. After the novelty terms of R-Zero (2508.05004) and POET.
 */
export function archiveDistance(
  batch: readonly string[],
  archive: readonly string[],
  { capacity = ARCHIVE_CAPACITY }: { capacity?: number } = {},
): number | null {
  requireInteger('capacity', capacity, 1);
  const newest = [...new Set(archive.toReversed())].slice(0, capacity);
  if (newest.length === 0) return null;
  const known = new Set(newest);
  return mean(
    batch.map((task) =>
      known.has(task) ? 0 : Math.min(...newest.map((entry) => normalisedEditDistance(task, entry))),
    ),
  );
}

/** Levenshtein distance over the longer length, in UTF-16 code units: 0 for equal texts, at most 1. */
export function normalisedEditDistance(left: string, right: string): number {
  const longest = Math.max(left.length, right.length);
  return longest === 0 ? 0 : editDistance(left, right) / longest;
}
