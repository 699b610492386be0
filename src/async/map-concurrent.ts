import pMap from 'p-map';

/**
 * Works through items, at most `limit` at a time; all of them or none. The first failure, or the caller's
 * signal, stops the others; the failure is no reason of theirs, which would count it once for each.
 * @returns results in the order of the items
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  limit: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const mapper = (item: Item): Promise<Result> => {
    stop.throwIfAborted();
    return work(item, stop);
  };
  try {
    return await pMap(items, mapper, { concurrency: limit });
  } catch (error) {
    failed.abort(new DOMException('another item failed', 'AbortError'));
    throw error;
  }
}
