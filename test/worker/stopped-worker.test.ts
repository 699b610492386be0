import { expect, test } from 'vitest';
import { runUntilStopped } from '../../src/worker/run-worker.ts';

/** A worker that runs until it is shut down. */
function someWorker() {
  let end: (() => void) | undefined;
  return {
    run: () => new Promise<void>((resolve) => (end = resolve)),
    shutdown: () => end!(),
  };
}

test('a worker that was being made when the stop came is shut down as soon as it runs', async () => {
  await expect(runUntilStopped(someWorker(), AbortSignal.abort())).resolves.toBeUndefined();
});

test('any other runs until it is shut down', async () => {
  const worker = someWorker();
  const run = runUntilStopped(worker, new AbortController().signal);
  expect(await Promise.race([run, Promise.resolve('running')])).toBe('running');
  worker.shutdown();
  await run;
});
