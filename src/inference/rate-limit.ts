/** Providers limit requests and tokens a minute: what they refuse for that is asked again, and nothing else. */
import { setTimeout as pause } from 'node:timers/promises';
import { ModelUnavailable } from './policy-client.ts';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;

/**
 * Asks until the answer is another one than 429, after the time that the server names, or else 1 s, doubled each
 * time. A batch of questions would lose its paid answers with the first that fails.
 * @param limitMs from the first request to the beginning of the last
 * @throws what `ask` throws; a ModelUnavailable for 429 if the next request would come after `limitMs`
 */
export async function waitOutRateLimit<Answer>(
  ask: () => Promise<Answer>,
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<Answer> {
  const end = Date.now() + limitMs;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs *= 2) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ModelUnavailable) || !error.isRateLimit) throw error;
      const waitMs = Math.min(error.retryAfterMs ?? delayMs, MAX_DELAY_MS);
      if (Date.now() + waitMs >= end) throw error;
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw signal.reason;
    }
  }
}
