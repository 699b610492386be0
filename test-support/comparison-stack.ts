import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { genenv } from '../test/cli/genenv-process.ts';
import { LiveStack } from './live-stack.ts';

/** A stack with a worker that trains two runs at a time, and `genenv compare` on it as a person gives it. */
export function comparisonStack() {
  let live: LiveStack | undefined;
  beforeAll(async () => {
    live = await LiveStack.shared();
    await live.policyReady();
    await live.startWorker({ environment: { GENENV_TRAINING_JOBS: '2' } });
  }, 300_000);
  afterAll(async () => live?.[Symbol.asyncDispose](), 60_000);
  /** @throws Error before the first test */
  const stack = (): LiveStack => {
    if (live === undefined) throw new Error('the stack is not started yet: use it in a test');
    return live;
  };
  return {
    stack,
    /** A path in the home of the stack. */
    at: (...path: string[]): string => join(stack().home, ...path),
    compare: (file: string, ...options: string[]) => {
      const { address, home, namespace } = stack();
      return genenv(['compare', file, '--address', address, ...options], {
        GENENV_HOME: home,
        TEMPORAL_NAMESPACE: namespace,
      });
    },
  };
}
