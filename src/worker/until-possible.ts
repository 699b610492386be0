import { setTimeout as sleep } from 'node:timers/promises';

/** Tries until it works: a worker that gave up while its server is away would look alive and never poll. @throws the signal's reason */
export async function untilPossible<T>(
  what: string,
  attempt: () => Promise<T>,
  { signal, say }: { signal: AbortSignal; say: (message: string) => void },
): Promise<T> {
  for (let wait = 200; ; wait = Math.min(5_000, wait * 2)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      say(`waiting for ${what}: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    }
  }
}
