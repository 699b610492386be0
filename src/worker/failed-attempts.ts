import { shortReason } from '../inference/outage-reason.ts';

/** Activities that are remembered: of those that failed longest ago nobody asks any more. */
const LIMIT = 1_000;

const UNKNOWN =
  'how the attempt before ended is not known here: on another worker, with its worker, or by a time limit';

/** Why attempts failed on this worker, so that the next attempt can say why it is made. */
export class FailedAttempts {
  readonly #reasons = new Map<string, string>();

  /** @param activity key of an activity, the same for all of its attempts */
  failed(activity: string, error: unknown): void {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    this.#reasons.delete(activity);
    this.#reasons.set(activity, shortReason(name === 'Error' ? message : `${name}: ${message}`));
    for (const [oldest] of this.#reasons) {
      if (this.#reasons.size <= LIMIT) break;
      this.#reasons.delete(oldest);
    }
  }

  /** Why the attempt before failed, in a line. */
  reason(activity: string): string {
    return this.#reasons.get(activity) ?? UNKNOWN;
  }
}
