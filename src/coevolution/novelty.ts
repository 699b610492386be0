/** How far the tasks of a batch differ from each other and from earlier ones. */
import { distance as editDistance } from 'fastest-levenshtein';
import { TimeSlices } from '../async/time-slices.ts';
import { mean } from '../numerics/arithmetic.ts';
import { requireInteger } from '../numerics/preconditions.ts';

/**
 * Share of distinct tasks in a batch, in (0, 1]: distinct signatures over all of them; null for an empty
 * batch. 1 is no proof of variety (the same skill in new words is distinct too); a fall is a proof of
 * collapse.
 */
export function distinctShare(signatures: readonly string[]): number | null {
  return signatures.length === 0 ? null : new Set(signatures).size / signatures.length;
}

/** Entries of the archive that a batch is compared with, the newest. */
export const ARCHIVE_CAPACITY = 512;

/**
 * Novelty of a batch: the mean over its tasks of the edit distance to the nearest task of the archive, in [0,
 * 1]; 0 when all are repeats, null if batch or archive is empty. `archive` is oldest first; only its
 * newest `capacity` distinct entries count, so the cost grows with the batch and not with the run: batch x
 * capacity x length² / 32, where a length above `MAX_COMPARED` counts as that. Give it the worlds' canonical
 * texts, not rendered prompts. After the novelty terms of R-Zero (2508.05004) and POET.
 */
export async function archiveDistance(
  batch: readonly string[],
  archive: readonly string[],
  { capacity = ARCHIVE_CAPACITY, slices = new TimeSlices() }: { capacity?: number; slices?: TimeSlices } = {},
): Promise<number | null> {
  requireInteger('capacity', capacity, 1);
  const newest = [...new Set(archive.toReversed())].slice(0, capacity);
  if (newest.length === 0) return null;
  const archived = new Set(newest);
  const distances: number[] = [];
  for (const task of batch) {
    let nearest = archived.has(task) ? 0 : Infinity;
    for (const entry of nearest === 0 ? [] : newest) {
      nearest = Math.min(nearest, normalisedEditDistance(task, entry));
      if (slices.isOver) await slices.next();
    }
    distances.push(nearest);
  }
  return mean(distances);
}

/** Characters of a text that an edit distance compares, after what two texts begin and end with alike. */
export const MAX_COMPARED = 2_000;

/**
 * Levenshtein distance over the longer length, in UTF-16 code units: 0 for equal texts only, at most 1. Texts that
 * differ over more than `MAX_COMPARED` units are taken to differ as much as the first of these do: the distance
 * of two texts of 20,000 would take 0.14 s, and a batch has thousands of pairs.
 */
export function normalisedEditDistance(left: string, right: string): number {
  const longest = Math.max(left.length, right.length);
  if (longest <= MAX_COMPARED) return longest === 0 ? 0 : editDistance(left, right) / longest;
  const [leftDifference, rightDifference] = differingParts(left, right);
  const differing = Math.max(leftDifference.length, rightDifference.length);
  const edits = editDistance(leftDifference.slice(0, MAX_COMPARED), rightDifference.slice(0, MAX_COMPARED));
  const compared = Math.min(differing, MAX_COMPARED);
  // A product of integers, so that it cannot be above 1 by a rounding error.
  return compared === 0 ? 0 : (edits * differing) / (compared * longest);
}

/** Two texts without the characters that both begin with, and then those that both end with. */
function differingParts(left: string, right: string): [string, string] {
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < shorter - start &&
    left.charCodeAt(left.length - 1 - end) === right.charCodeAt(right.length - 1 - end)
  )
    end++;
  return [left.slice(start, left.length - end), right.slice(start, right.length - end)];
}
