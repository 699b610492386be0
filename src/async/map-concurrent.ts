/**
 * Works through items, at most `limit` at a time; all of them or none. The first failure, or the caller's
 * signal, stops the others.
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
  const results = new Array<Result>(items.length);
  const next = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of next) {
      stop.throwIfAborted();
      results[index] = await work(item, stop);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  return results;
}
/**
 * Runs pieces of work one after the other, in the order they were asked for; a failed one does not stop the
 * next.
 */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
