/** Milliseconds for which a computation keeps the event loop: heartbeats, health checks and answers wait no longer. */
const SLICE_MS = 20;

/**
 * Lets the rest of the process run during a long computation, which asks often whether its slice of time is over,
 * and then awaits the next one. Results do not depend on when that is.
 */
export class TimeSlices {
  readonly #onSlice: (slices: number) => void;
  #since = performance.now();
  #slices = 0;

  /** @param onSlice called at the end of each slice with the number of slices so far, such as for a heartbeat */
  constructor(onSlice: (slices: number) => void = () => undefined) {
    this.#onSlice = onSlice;
  }

  get isOver(): boolean {
    return performance.now() - this.#since >= SLICE_MS;
  }

  async next(): Promise<void> {
    this.#onSlice(++this.#slices);
    await new Promise(setImmediate);
    this.#since = performance.now();
  }
}
