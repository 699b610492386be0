/** Neighbouring items that belong together, as lists: only one list is in memory at a time. */
export async function* groupConsecutive<T>(
  items: AsyncIterable<T>,
  together: (one: T, next: T) => boolean,
): AsyncGenerator<T[]> {
  let list: T[] = [];
  for await (const item of items) {
    if (list.length > 0 && !together(list[0]!, item)) {
      yield list;
      list = [];
    }
    list.push(item);
  }
  if (list.length > 0) yield list;
}

/**
 * Streams that are each in order as one that is, with one item of each in memory.
 * @param before whether one item comes before another
 */
export async function* mergeSorted<T>(
  streams: readonly AsyncIterable<T>[],
  before: (one: T, other: T) => boolean,
): AsyncGenerator<T> {
  const open: { rest: AsyncIterator<T>; item: T }[] = [];
  try {
    for (const stream of streams) {
      const rest = stream[Symbol.asyncIterator]();
      const first = await rest.next();
      if (first.done !== true) open.push({ rest, item: first.value });
    }
    while (open.length > 0) {
      const first = open.reduce((least, other) => (before(other.item, least.item) ? other : least));
      yield first.item;
      const next = await first.rest.next();
      if (next.done === true) open.splice(open.indexOf(first), 1);
      else first.item = next.value;
    }
  } finally {
    for (const { rest } of open) await rest.return?.();
  }
}

/** Items of two streams of equal length side by side, such as tasks and their scores. */
export async function* zip<A, B>(left: AsyncIterable<A>, right: AsyncIterable<B>): AsyncGenerator<[A, B]> {
  const others = right[Symbol.asyncIterator]();
  try {
    for await (const one of left) {
      const other = await others.next();
      if (other.done === true) throw new Error('streams that belong together differ in length');
      yield [one, other.value];
    }
  } finally {
    await others.return?.();
  }
}

/** Cuts a stream into lists of `size`; the last may be shorter. */
export async function* chunks<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let list: T[] = [];
  for await (const item of items) {
    list.push(item);
    if (list.length < size) continue;
    yield list;
    list = [];
  }
  if (list.length > 0) yield list;
}

export async function* filterStream<T>(
  items: AsyncIterable<T>,
  wanted: (item: T) => boolean,
): AsyncGenerator<T> {
  for await (const item of items) if (wanted(item)) yield item;
}
/** All of a stream at once; only for what is small by design (tasks, scores), never for traces. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}
