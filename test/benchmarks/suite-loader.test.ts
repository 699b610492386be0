import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SuiteLoader } from '../../src/benchmarks/suite-loader.ts';
import { SidecarFailed } from '../../src/benchmarks/suite.ts';
import type { Missing, OpenSuite, Suite } from '../../src/benchmarks/suite.ts';
import { hostWith, settings } from './travelplanner-support.ts';

const MINUTE_MS = 60_000;
const prompt = settings('prompt');
const never = new AbortController().signal;

/** A loader of one suite, which counts how often it was opened and closed; its first opening may hang. */
function someLoader({ hangs = false, missing }: { hangs?: boolean; missing?: string } = {}) {
  const counts = { opened: 0, closed: 0, stopped: 0 };
  const suite: Suite = {
    name: 'some',
    about: '',
    refuses: () => null,
    open: (_host, _settings, signal) => {
      counts.opened += 1;
      const { promise, resolve, reject } = Promise.withResolvers<OpenSuite | Missing>();
      signal?.addEventListener('abort', () => {
        counts.stopped += 1;
        reject(new Error('stopped'));
      });
      const close = () => {
        counts.closed += 1;
        return Promise.resolve();
      };
      if (!hangs || counts.opened > 1)
        resolve(missing === undefined ? ({ cases: [], close } as unknown as OpenSuite) : { missing });
      return promise;
    },
  };
  const loader = new SuiteLoader([{ name: 'some', suites: [suite] }], hostWith('/nowhere'));
  const use = <Result>(
    attempt: (opened: OpenSuite | Missing) => Promise<Result>,
    signal: AbortSignal = never,
  ): Promise<Result> => loader.use(suite, prompt, signal, attempt);
  /** Uses the suite for no time. */
  const open = () => use((opened) => Promise.resolve(opened));
  return { counts, loader, use, open };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('an opened suite', () => {
  it('is kept while it is used, and closed when nobody has used it for minutes', async () => {
    const { counts, use, open } = someLoader();
    const opened = await open();
    const { promise, resolve } = Promise.withResolvers<string>();
    const attempt = use(() => promise);
    await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
    expect(await open()).toBe(opened);
    expect(counts).toMatchObject({ opened: 1, closed: 0 });
    resolve('done');
    expect(await attempt).toBe('done');
    await vi.advanceTimersByTimeAsync(9 * MINUTE_MS);
    expect(await open()).toBe(opened);
    await vi.advanceTimersByTimeAsync(9 * MINUTE_MS);
    expect(counts).toMatchObject({ opened: 1, closed: 0 });
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(counts).toMatchObject({ opened: 1, closed: 1 });
    expect(await open()).not.toBe(opened);
  });

  it('is opened again after its engine has failed, but not after another error', async () => {
    const { counts, use, open } = someLoader();
    await expect(use(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    expect(counts).toMatchObject({ opened: 1, closed: 0 });
    await expect(use(() => Promise.reject(new SidecarFailed('it ended')))).rejects.toThrow('it ended');
    await vi.advanceTimersByTimeAsync(0);
    expect(counts).toMatchObject({ opened: 1, closed: 1 });
    await open();
    expect(counts.opened).toBe(2);
  });

  it('is opened again after an attempt was given up, since its engine may hang', async () => {
    const { counts, use, open } = someLoader();
    const givenUp = new AbortController();
    await open();
    void use(() => new Promise(() => undefined), givenUp.signal);
    givenUp.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(counts).toMatchObject({ opened: 1, closed: 1 });
    await open();
    expect(counts.opened).toBe(2);
  });

  it('is kept for those who use it beside an attempt that is given up', async () => {
    const { counts, use, open } = someLoader();
    const givenUp = new AbortController();
    const { promise, resolve } = Promise.withResolvers<string>();
    const attempt = use(() => promise);
    void use(() => new Promise(() => undefined), givenUp.signal);
    await vi.advanceTimersByTimeAsync(0);
    givenUp.abort();
    await open();
    expect(counts).toMatchObject({ opened: 2, closed: 0 });
    resolve('done');
    expect(await attempt).toBe('done');
    await vi.advanceTimersByTimeAsync(0);
    expect(counts).toMatchObject({ opened: 2, closed: 1 });
  });

  it('is opened again if it hung as it was opened, and the hanging engine is ended', async () => {
    const { counts, use, open } = someLoader({ hangs: true });
    const [first, second] = [new AbortController(), new AbortController()];
    const reason = new Error('given up');
    const hung = [first, second].map(({ signal }) =>
      expect(use((opened) => Promise.resolve(opened), signal)).rejects.toBe(reason),
    );
    first.abort(reason);
    await vi.advanceTimersByTimeAsync(0);
    expect(counts).toMatchObject({ opened: 1, stopped: 0 });
    expect(await open()).toHaveProperty('cases');
    second.abort(reason);
    await Promise.all(hung);
    expect(counts).toEqual({ opened: 2, closed: 0, stopped: 1 });
  });

  it('that lacks something is opened again the next time', async () => {
    const { counts, open } = someLoader({ missing: 'its data' });
    expect(await open()).toEqual({ missing: 'its data' });
    expect(await open()).toEqual({ missing: 'its data' });
    expect(counts).toMatchObject({ opened: 2, closed: 0 });
  });
});

it('an attempt is kept alive for minutes while its suite opens, and no longer', async () => {
  const {
    loader: { benchmarks },
  } = someLoader();
  const waits: { limitMs: number; isOver: boolean }[] = [];
  const keepAlive = async <Result>(limitMs: number, wait: () => Promise<Result>): Promise<Result> => {
    const entry = { limitMs, isOver: false };
    waits.push(entry);
    return wait().finally(() => (entry.isOver = true));
  };
  const loader = new SuiteLoader(benchmarks, hostWith('/nowhere'), keepAlive);
  await loader.use(benchmarks[0]!.suites[0]!, prompt, never, () => {
    expect(waits).toEqual([{ limitMs: 2 * MINUTE_MS, isOver: true }]);
  });
  expect(waits).toHaveLength(1);
});

it('a loader closes what it has opened', async () => {
  vi.useRealTimers();
  const { counts, loader, open } = someLoader();
  await open();
  await loader.close();
  await pause(0);
  expect(counts).toMatchObject({ opened: 1, closed: 1 });
});
