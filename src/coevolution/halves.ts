/** The attempts at a task cut in two: what is judged by the second half is not known from itself. An odd one goes to the second. */
export function inHalves<T>(attempts: readonly T[]): { first: T[]; second: T[] } {
  const middle = Math.floor(attempts.length / 2);
  return { first: attempts.slice(0, middle), second: attempts.slice(middle) };
}
