import { normalisedEditDistance } from './archive-distance.ts';
import { requireInRange } from './domain.ts';

/**
 * Size of the cluster that each task belongs to: average-link clustering of the distinct texts by normalised edit distance, merging
 * while the nearest two clusters are at most `maxDistance` apart. Copies of a text count once: what they are discounted by is
 * `regressionRecords`. After the repetition penalty of R-Zero (2508.05004: 1 - BLEU, average link, at 0.5); our texts are a
 * world's short canonical ones. The cost is that of all pairs: for the tasks of one epoch.
 */
export function clusterSizes(texts: readonly string[], maxDistance: number): number[] {
  requireInRange('maxDistance', maxDistance, 0, 1);
  let clusters = [...new Set(texts)].map((text) => [text]);
  const apart = new Map<string, Map<string, number>>(clusters.map(([text]) => [text!, new Map()]));
  for (const [i, [left]] of clusters.entries())
    for (const [right] of clusters.slice(i + 1)) {
      const distance = normalisedEditDistance(left!, right!);
      apart.get(left!)!.set(right!, distance);
      apart.get(right!)!.set(left!, distance);
    }
  const between = (left: readonly string[], right: readonly string[]): number =>
    left.reduce((sum, one) => sum + right.reduce((of, other) => of + apart.get(one)!.get(other)!, 0), 0) /
    (left.length * right.length);
  for (;;) {
    let nearest = { distance: Infinity, left: 0, right: 0 };
    for (let left = 0; left < clusters.length; left++)
      for (let right = left + 1; right < clusters.length; right++) {
        const distance = between(clusters[left]!, clusters[right]!);
        if (distance < nearest.distance) nearest = { distance, left, right };
      }
    if (!(nearest.distance <= maxDistance)) break;
    const merged = [...clusters[nearest.left]!, ...clusters[nearest.right]!];
    clusters = [...clusters.filter((_, index) => index !== nearest.left && index !== nearest.right), merged];
  }
  const sizes = new Map(
    clusters.flatMap((cluster) => cluster.map((text) => [text, cluster.length] as const)),
  );
  return texts.map((text) => sizes.get(text)!);
}
