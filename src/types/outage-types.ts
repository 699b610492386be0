/**
 * Model servers, and the store, while they are away. Types only, so workflows may import them. Field names are on
 * the wire: failures, signals and queries hold them.
 */

/** Details of the failure of an activity that met a model server or store that is away: its workflow waits. */
export interface OutageDetails {
  /** Base URL; `the store` of a full disk, or of a bucket. */
  server: string;
  /** In a few words, such as `connection refused`. */
  reason: string;
  /** Whether the attempt did some of its work before: then this is a new outage. */
  progressed: boolean;
  /** The server's `Retry-After`, if it sent one. */
  retryAfterMs?: number;
}

/** An outage that a workflow waits for. */
export interface ModelOutage {
  server: string;
  /** Why the last try failed. */
  reason: string;
  /** Tries that failed. */
  tries: number;
  /** When the first one failed. */
  since: string;
}

/** What a workflow that waits says of it, and tells its parent. */
export interface OutageReport {
  /** Id of the workflow that waits. */
  workflow: string;
  /** What it was doing. */
  phase: string;
  outage: ModelOutage;
}
