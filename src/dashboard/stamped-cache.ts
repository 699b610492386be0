import { BoundedMap } from '../async/bounded-map.ts';

/** Values that hold until a stamp changes; of many, those that were asked for last are kept. */
export class StampedCache<T> {
  readonly #entries: BoundedMap<string, { stamp: string; value: Promise<T> }>;

  /** @param limit how many are kept */
  constructor(limit: number) {
    this.#entries = new BoundedMap(limit);
  }

  /** The value of a key, made anew under another stamp. A failure is not kept. */
  get(key: string, stamp: string, make: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    const value = entry?.stamp === stamp ? entry.value : make();
    value.catch(() => this.#entries.delete(key));
    this.#entries.set(key, { stamp, value });
    return value;
  }
}
