import type { KeepAlive } from '../async/keep-alive.ts';
import { hashOf } from '../store/canonical-json.ts';
import { selectSuites } from './registry.ts';
import { SidecarFailed } from './suite.ts';
import type { Benchmark, Missing, OpenSuite, Suite, SuiteHost, SuiteSettings } from './suite.ts';

/** A suite that nobody has used for so long is closed: it may have a process. */
const UNUSED_MS = 10 * 60_000;
/** An engine starts in seconds, or in a minute beside much else; one that needs longer hangs. */
const MAX_OPENING_MS = 2 * 60_000;

interface Opening {
  key: string;
  suite: Promise<OpenSuite | Missing>;
  /** Ends an opening that nobody waits for. */
  stop: AbortController;
  /** Attempts that wait for it or use it. */
  users: Set<symbol>;
  /** Whether the next attempt opens the suite again: this one is closed with its last user. */
  isReplaced: boolean;
  timer?: NodeJS.Timeout;
}

/**
 * The suites of a worker. Each is opened once, since engines take seconds to start, and closed when it is no
 * longer used.
 */
export class SuiteLoader {
  readonly benchmarks: readonly Benchmark[];
  readonly #host: SuiteHost;
  readonly #keepAlive: KeepAlive;
  readonly #openings = new Map<string, Opening>();

  constructor(benchmarks: readonly Benchmark[], host: SuiteHost, keepAlive: KeepAlive = (_, wait) => wait()) {
    this.benchmarks = benchmarks;
    this.#host = host;
    this.#keepAlive = keepAlive;
  }

  /** @throws InvalidConfig for an unknown name */
  select(names: readonly string[]): Suite[] {
    return selectSuites(this.benchmarks, names);
  }

  /**
   * Runs an attempt with an opened suite, or with what it lacks. The next attempt opens the suite again if it lacks
   * something, if its engine fails, and if this attempt is given up, since the engine may hang while it starts or
   * works. Other attempts keep the engine that they have.
   * @throws what the opening or the attempt throws; the signal's reason if it aborts before the suite is open
   */
  async use<Result>(
    suite: Suite,
    settings: SuiteSettings,
    signal: AbortSignal,
    attempt: (opened: OpenSuite | Missing) => Result | Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const opening = this.#openingOf(suite, settings);
    clearTimeout(opening.timer);
    const user = Symbol(suite.name);
    opening.users.add(user);
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => {
      reject(signal.reason as Error);
      this.#replace(opening);
      this.#leave(opening, user);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const opened = await this.#keepAlive(MAX_OPENING_MS, () => Promise.race([opening.suite, givenUp]));
      if ('missing' in opened) this.#replace(opening);
      return await attempt(opened);
    } catch (error) {
      if (error instanceof SidecarFailed) this.#replace(opening);
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
      this.#leave(opening, user);
    }
  }

  #openingOf(suite: Suite, settings: SuiteSettings): Opening {
    const key = hashOf({ name: suite.name, settings });
    const existing = this.#openings.get(key);
    if (existing !== undefined) return existing;
    const stop = new AbortController();
    const opened = suite.open(this.#host, settings, stop.signal);
    const opening: Opening = { key, suite: opened, stop, users: new Set(), isReplaced: false };
    opened.catch(() => this.#replace(opening));
    this.#openings.set(key, opening);
    return opening;
  }

  /** Idempotent. */
  #replace(opening: Opening): void {
    opening.isReplaced = true;
    if (this.#openings.get(opening.key) === opening) this.#openings.delete(opening.key);
  }

  /** Idempotent. */
  #leave(opening: Opening, user: symbol): void {
    if (!opening.users.delete(user) || opening.users.size > 0) return;
    const discard = (): void => void this.#discard(opening);
    if (opening.isReplaced) discard();
    else opening.timer = setTimeout(discard, UNUSED_MS).unref();
  }

  async #discard(opening: Opening): Promise<void> {
    clearTimeout(opening.timer);
    this.#replace(opening);
    opening.stop.abort(new Error('nobody waits for the suite'));
    const opened = await opening.suite.catch(() => undefined);
    if (opened !== undefined && 'cases' in opened) await opened.close();
  }

  /** Closes all suites; nobody uses them any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#openings.values()].map((opening) => this.#discard(opening)));
  }
}
