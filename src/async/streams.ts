/** Cuts a stream into runs of consecutive items that belong together. One run is in memory at a time. */
export async function* groupConsecutive<T>(
  items: AsyncIterable<T>,
  belongTogether: (first: T, next: T) => boolean,
): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    if (group.length > 0 && !belongTogether(group[0]!, item)) {
      yield group;
      group = [];
    }
    group.push(item);
  }
  if (group.length > 0) yield group;
}

/**
 * Merges streams, each of them sorted, into one sorted stream. One item of each is in memory.
 * @param isBefore whether `a` must come before `b`
 */
export async function* mergeSorted<T>(
  streams: readonly AsyncIterable<T>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T> {
  const open: { rest: AsyncIterator<T>; item: T }[] = [];
  try {
    for (const stream of streams) {
      const rest = stream[Symbol.asyncIterator]();
      const first = await rest.next();
      if (first.done !== true) open.push({ rest, item: first.value });
    }
    while (open.length > 0) {
      const first = open.reduce((least, head) => (isBefore(head.item, least.item) ? head : least));
      yield first.item;
      const next = await first.rest.next();
      if (next.done === true) open.splice(open.indexOf(first), 1);
      else first.item = next.value;
    }
  } finally {
    for (const { rest } of open) await rest.return?.();
  }
}

type StreamsOf<Row extends unknown[]> = { [Column in keyof Row]: AsyncIterable<Row[Column]> };

/**
 * Rows of the first items of all streams, of the second items, and so on.
 * @throws Error if the streams differ in length
 */
export async function* zip<Row extends [unknown, unknown, ...unknown[]]>(
  ...streams: StreamsOf<Row>
): AsyncGenerator<Row> {
  const iterators = streams.map((stream) => stream[Symbol.asyncIterator]());
  try {
    for (;;) {
      const results: IteratorResult<unknown, unknown>[] = [];
      for (const iterator of iterators) results.push(await iterator.next());
      const ended = results.filter(({ done }) => done === true).length;
      if (ended === results.length) return;
      if (ended > 0) throw new Error('streams that belong together differ in length');
      yield results.map(({ value }) => value) as Row;
    }
  } finally {
    for (const iterator of iterators) await iterator.return?.();
  }
}

/** A record with an id of its own, or one about the task with that id. */
type IdentifiedRecord = { id: string } | { task_id: string };

/**
 * Rows of the records of several files that are in the same order (`types/records.ts`), such as tasks, their
 * scores and the decisions on them. The records of a row have the same id.
 * @throws Error naming both ids if they differ, and if the files differ in length
 */
export async function* zipRecords<Row extends [IdentifiedRecord, IdentifiedRecord, ...IdentifiedRecord[]]>(
  ...files: StreamsOf<Row>
): AsyncGenerator<Row> {
  for await (const row of zip<Row>(...files)) {
    const [id, ...ids] = row.map(recordId);
    const mismatch = ids.find((candidate) => candidate !== id);
    if (mismatch !== undefined)
      throw new Error(
        `record ${mismatch} stands where record ${id} should: ` +
          `the files are not in the same order, or not of the same epoch`,
      );
    yield row;
  }
}

const recordId = (record: IdentifiedRecord): string => ('id' in record ? record.id : record.task_id);

/** Cuts a stream into lists of `size`; the last may be shorter. */
export async function* chunks<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let chunk: T[] = [];
  for await (const item of items) {
    chunk.push(item);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

export async function* filterStream<T>(
  items: AsyncIterable<T>,
  isWanted: (item: T) => boolean,
): AsyncGenerator<T> {
  for await (const item of items) if (isWanted(item)) yield item;
}

export async function* mapStream<T, Result>(
  items: AsyncIterable<T>,
  change: (item: T) => Result,
): AsyncGenerator<Result> {
  for await (const item of items) yield change(item);
}

/** All items of a stream at once: only for what is small by design (tasks, scores), never for traces. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}
