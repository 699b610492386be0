/** Waits for something, at most so many milliseconds, and keeps the attempt alive meanwhile. */
export type KeepAlive = <Result>(limitMs: number, wait: () => Promise<Result>) => Promise<Result>;
