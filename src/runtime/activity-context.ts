/** The context of an activity attempt: Temporal’s in a worker, a plain one elsewhere. */
export interface ActivityContext {
  /** Aborted when the activity is cancelled, or its worker stops. */
  signal: AbortSignal;
  /** Aborted when the attempt has not heartbeated for its timeout: the server has given it up. */
  stalled: AbortSignal;
  /** Real progress only: a heartbeat says that work was done since the last one. */
  heartbeat: (details: unknown) => void;
  /** Calls back at each heartbeat of this attempt from now on, whichever code sends it. */
  onHeartbeat: (listener: () => void) => void;
  /** True if the signal means that the worker stops, not that a user cancels. */
  isWorkerStopping: () => boolean;
  /**
   * True if the signal means that the server has given the attempt up, or its workflow has ended, and nobody
   * asked the activity to end: after a time limit, another attempt continues.
   */
  isSuperseded: () => boolean;
}
