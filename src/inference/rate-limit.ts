/** Providers limit requests and tokens a minute: what they refuse for that is asked again, and nothing else. */
import { setTimeout as pause } from 'node:timers/promises';
import { ModelUnavailable } from './policy-client.ts';

const FIRST_DELAY_MS = 1_000;
/** Between the first request and the beginning of the last: limits are of a minute, or else of a day. */
export const RATE_LIMIT_WAIT_MS = 2 * 60_000;

/**
 * Asks until the answer is another one than 429, each time after the time that the server names, and after no less
 * than 1 s, doubled each time. A batch of questions would lose its paid answers with the first that fails.
 * @throws what `ask` throws; a ModelUnavailable for 429 if the next request would come too late
 */
export async function waitOutRateLimit<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const end = Date.now() + RATE_LIMIT_WAIT_MS;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs *= 2) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ModelUnavailable) || !error.isRateLimit) throw error;
      const waitMs = Math.max(error.retryAfterMs ?? 0, delayMs);
      if (Date.now() + waitMs >= end) throw error;
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw signal.reason;
    }
  }
}
