/**
 * Share of distinct tasks in a batch, in (0, 1]: distinct signatures over all of them; null for an empty batch.
 * 1 is no proof of variety (the same skill in new words is distinct too); a fall is a proof of collapse.
 */
export function distinctShare(signatures: readonly string[]): number | null {
  return signatures.length === 0 ? null : new Set(signatures).size / signatures.length;
}
