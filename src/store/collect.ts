/** All of a stream at once; only for what is small by design (tasks, scores), never for traces. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}
