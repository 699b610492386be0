import { BoundedMap } from '../async/bounded-map.ts';
import { shortReason } from '../inference/outage-reason.ts';

/** Activities that are remembered: of those that failed longest ago nobody asks any more. */
const LIMIT = 1_000;

const UNKNOWN =
  'how the attempt before ended is not known here: on another worker, with its worker, or by a time limit';

/** Why attempts failed on this worker, so that the next attempt can say why it is made. */
export class FailedAttempts {
  readonly #failures = new BoundedMap<string, { attempt: number; reason: string }>(LIMIT);

  /**
   * @param activity key of an activity, the same for all of its attempts
   * @param attempt counted from 1
   */
  record(activity: string, attempt: number, error: unknown): void {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const reason = shortReason(name === 'Error' ? message : `${name}: ${message}`);
    this.#failures.set(activity, { attempt, reason });
  }

  /** Why the attempt before this one failed, in a line. */
  reasonFor(activity: string, attempt: number): string {
    const failure = this.#failures.get(activity);
    return failure?.attempt === attempt - 1 ? failure.reason : UNKNOWN;
  }
}
