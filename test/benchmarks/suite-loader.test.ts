import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SuiteLoader } from '../../src/benchmarks/registry.ts';
import { SidecarFailed } from '../../src/benchmarks/suite.ts';
import type { OpenSuite, Suite } from '../../src/benchmarks/suite.ts';
import { hostWith, settings } from './travelplanner-support.ts';

const MINUTE_MS = 60_000;
const prompt = settings('prompt');
const never = new AbortController().signal;

/** A loader of one suite, which counts how often it was opened and closed. */
function someLoader() {
  const counts = { opened: 0, closed: 0 };
  const suite: Suite = {
    name: 'some',
    about: '',
    refuses: () => null,
    open: () => {
      counts.opened += 1;
      const close = () => {
        counts.closed += 1;
        return Promise.resolve();
      };
      return Promise.resolve({ cases: [], close } as unknown as OpenSuite);
    },
  };
  const loader = new SuiteLoader([{ name: 'some', suites: [suite] }], hostWith('/nowhere'));
  const open = async () => (await loader.open(suite, prompt)) as OpenSuite;
  return { counts, loader, open };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('an opened suite', () => {
  it('is kept while it is used, and closed when nobody has used it for minutes', async () => {
    const { counts, loader, open } = someLoader();
    const opened = await open();
    const { promise, resolve } = Promise.withResolvers<string>();
    const attempt = loader.runAttempt(opened, never, () => promise);
    await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
    expect(await open()).toBe(opened);
    expect(counts).toEqual({ opened: 1, closed: 0 });
    resolve('done');
    expect(await attempt).toBe('done');
    await vi.advanceTimersByTimeAsync(9 * MINUTE_MS);
    expect(await open()).toBe(opened);
    await vi.advanceTimersByTimeAsync(9 * MINUTE_MS);
    expect(counts).toEqual({ opened: 1, closed: 0 });
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(counts).toEqual({ opened: 1, closed: 1 });
    expect(await open()).not.toBe(opened);
  });

  it('is opened again after its engine has failed, but not after another error', async () => {
    const { counts, loader, open } = someLoader();
    const opened = await open();
    await expect(
      loader.runAttempt(opened, never, () => Promise.reject(new Error('no answer'))),
    ).rejects.toThrow();
    expect(counts).toEqual({ opened: 1, closed: 0 });
    await expect(
      loader.runAttempt(opened, never, () => Promise.reject(new SidecarFailed('it ended'))),
    ).rejects.toThrow('it ended');
    expect(counts).toEqual({ opened: 1, closed: 1 });
    await open();
    expect(counts.opened).toBe(2);
  });

  it('is opened again after an attempt was given up, since its engine may hang', async () => {
    const { counts, loader, open } = someLoader();
    const givenUp = new AbortController();
    void loader.runAttempt(await open(), givenUp.signal, () => new Promise(() => undefined));
    givenUp.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(counts).toEqual({ opened: 1, closed: 1 });
    await open();
    expect(counts.opened).toBe(2);
  });
});
