/** Clusters of alike tasks, by average link: what the repetition of an epoch is measured by. */
import { TimeSlices } from '../async/time-slices.ts';
import { sum } from '../numerics/arithmetic.ts';
import { requireInRange } from '../numerics/preconditions.ts';
import { normalisedEditDistance } from './novelty.ts';

/** Tasks of an epoch that can be clustered: all pairs are compared, and kept. */
export const MAX_CLUSTERED = 4_096;

/**
 * Size of the cluster that each task belongs to: average-link clustering of the distinct texts by normalised
 * edit distance, merging while the nearest two clusters are at most `maxDistance` apart. Copies of a text
 * count once: `regressionRecords` discounts them. After the repetition penalty of R-Zero
 * (2508.05004: 1 - BLEU, average link, at 0.5); our texts are a world's short canonical ones. The cost is
 * that of all pairs: for the tasks of one epoch.
 * @throws RangeError for more than `MAX_CLUSTERED` distinct texts
 */
export async function clusterSizes(
  texts: readonly string[],
  maxDistance: number,
  slices = new TimeSlices(),
): Promise<number[]> {
  requireInRange('maxDistance', maxDistance, 0, 1);
  const distinct = [...new Set(texts)];
  requireInRange('distinct texts', distinct.length, 0, MAX_CLUSTERED);
  const distances = await pairwiseDistances(distinct, slices);
  const clusters = distances.map((sums, index): Cluster => ({
    members: [index],
    sums,
    links: [...sums.subarray(0, index)],
  }));
  for (;;) {
    const { distance, left, right } = await nearestPair(clusters, slices);
    if (!(distance <= maxDistance)) break;
    const merged = mergedCluster(clusters[left]!, clusters[right]!, distances);
    for (const index of [right, left]) {
      clusters.splice(index, 1);
      for (const { links } of clusters.slice(index)) links.splice(index, 1);
    }
    merged.links = clusters.map((cluster) => linkDistance(cluster, merged));
    clusters.push(merged);
  }
  const sizes = new Map(
    clusters.flatMap(({ members }) => members.map((index) => [distinct[index]!, members.length] as const)),
  );
  return texts.map((text) => sizes.get(text)!);
}

/** Clusters are in the order in which they came to be. */
interface Cluster {
  /** Indexes of its texts. */
  members: readonly number[];
  /** By each text's index, the sum of its distances to the members. */
  sums: Float64Array;
  /** Average link to each earlier cluster. */
  links: number[];
}

async function pairwiseDistances(texts: readonly string[], slices: TimeSlices): Promise<Float64Array[]> {
  const distances = texts.map(() => new Float64Array(texts.length));
  for (const [i, left] of texts.entries())
    for (let j = i + 1; j < texts.length; j++) {
      const distance = normalisedEditDistance(left, texts[j]!);
      distances[i]![j] = distance;
      distances[j]![i] = distance;
      if (slices.isOver) await slices.next();
    }
  return distances;
}

function mergedCluster(left: Cluster, right: Cluster, distances: readonly Float64Array[]): Cluster {
  const sums = Float64Array.from(left.sums);
  for (const member of right.members)
    for (const [index, distance] of distances[member]!.entries()) sums[index]! += distance;
  return { members: [...left.members, ...right.members], sums, links: [] };
}

/** Average link of a cluster and a later one. */
const linkDistance = (cluster: Cluster, later: Cluster): number =>
  sum(cluster.members.map((index) => later.sums[index]!)) / (cluster.members.length * later.members.length);

/**
 * The two clusters nearest to each other by average link, the earliest of several; at distance Infinity if there
 * are fewer than two.
 */
async function nearestPair(
  clusters: readonly Cluster[],
  slices: TimeSlices,
): Promise<{ distance: number; left: number; right: number }> {
  let nearest = { distance: Infinity, left: 0, right: 0 };
  for (const [right, { links }] of clusters.entries()) {
    for (let left = 0; left < right; left++) {
      const distance = links[left]!;
      if (distance < nearest.distance || (distance === nearest.distance && left < nearest.left))
        nearest = { distance, left, right };
    }
    if (slices.isOver) await slices.next();
  }
  return nearest;
}
