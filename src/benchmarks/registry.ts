import { join } from 'node:path';
import { engineFolder, isEngine, repository } from '../../infra/setup/locations.mjs';
import { environmentReady } from '../../infra/setup/virtual-environment.mjs';
import { hashOf } from '../store/canonical-json.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { nearestName } from '../validation/issue-messages.ts';
import { alfworld } from './alfworld/alfworld.ts';
import { apiBank } from './api-bank/api-bank.ts';
import { bamboogle } from './bamboogle/bamboogle.ts';
import { bfcl } from './bfcl/bfcl.ts';
import { SidecarFailed } from './suite.ts';
import type { Benchmark, Missing, OpenSuite, Suite, SuiteHost, SuiteSettings } from './suite.ts';
import { travelPlanner } from './travelplanner/travelplanner.ts';

/** Every benchmark of this project. */
export const benchmarks: readonly Benchmark[] = [bfcl, apiBank, bamboogle, travelPlanner, alfworld];

/**
 * The suites of these names, each once, in their benchmarks' order; `bfcl_v4_*` selects by prefix.
 * @throws InvalidConfig for an unknown name
 */
export function selectSuites(all: readonly Benchmark[], names: readonly string[]): Suite[] {
  const suites = all.flatMap((benchmark) => benchmark.suites);
  const wanted = new Set(
    names.flatMap((name) => {
      const matching = name.endsWith('*')
        ? suites.filter((suite) => suite.name.startsWith(name.slice(0, -1)))
        : suites.filter((suite) => suite.name === name);
      if (matching.length > 0) return matching;
      const nearest = nearestName(
        name,
        suites.map((suite) => suite.name),
      );
      throw new InvalidConfig(
        `evaluation: suites: got ${JSON.stringify(name)}; ${nearest === undefined ? 'expected names of suites, which `genenv suites` lists' : `did you mean "${nearest}"?`}`,
      );
    }),
  );
  return suites.filter((suite) => wanted.has(suite));
}

/** A suite that nobody has used for so long is closed: it may have a process. */
const UNUSED_MS = 10 * 60_000;

interface Opening {
  key: string;
  opening: Promise<OpenSuite | Missing>;
  users: number;
  timer?: NodeJS.Timeout;
}

/**
 * The suites of a worker. Each is opened once, since engines take seconds to start, and closed when it is no
 * longer used.
 */
export class SuiteLoader {
  readonly benchmarks: readonly Benchmark[];
  readonly #host: SuiteHost;
  readonly #openings = new Map<string, Opening>();
  readonly #byOpened = new WeakMap<OpenSuite, Opening>();

  constructor(benchmarks: readonly Benchmark[], host: SuiteHost) {
    this.benchmarks = benchmarks;
    this.#host = host;
  }

  /** @throws InvalidConfig for an unknown name */
  select(names: readonly string[]): Suite[] {
    return selectSuites(this.benchmarks, names);
  }

  /** An opened suite, or what it lacks; a suite that lacks something is opened again the next time. */
  async open(suite: Suite, settings: SuiteSettings): Promise<OpenSuite | Missing> {
    const key = hashOf({ name: suite.name, settings });
    const opening = this.#openings.get(key) ?? { key, opening: suite.open(this.#host, settings), users: 0 };
    this.#openings.set(key, opening);
    try {
      const opened = await opening.opening;
      if ('missing' in opened) this.#openings.delete(key);
      else {
        this.#byOpened.set(opened, opening);
        this.#countUsers(opened, 0);
      }
      return opened;
    } catch (error) {
      this.#openings.delete(key);
      throw error;
    }
  }

  /**
   * Runs an attempt with an opened suite. If the engine fails, the suite is closed, so that the next attempt opens it
   * again; also if the attempt is given up, since the engine may hang.
   */
  async runAttempt<Result>(
    opened: OpenSuite,
    signal: AbortSignal,
    attempt: () => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const discard = (): void => void this.#discard(opened);
    signal.addEventListener('abort', discard, { once: true });
    this.#countUsers(opened, 1);
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof SidecarFailed) await this.#discard(opened);
      throw error;
    } finally {
      signal.removeEventListener('abort', discard);
      this.#countUsers(opened, -1);
    }
  }

  #countUsers(opened: OpenSuite, change: -1 | 0 | 1): void {
    const opening = this.#byOpened.get(opened)!;
    clearTimeout(opening.timer);
    opening.users += change;
    if (opening.users === 0) opening.timer = setTimeout(() => void this.#discard(opened), UNUSED_MS).unref();
  }

  /** Idempotent. */
  async #discard(opened: OpenSuite): Promise<void> {
    const opening = this.#byOpened.get(opened)!;
    if (this.#openings.get(opening.key) === opening) this.#openings.delete(opening.key);
    await opened.close();
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled([...this.#openings.values()].map(({ opening }) => opening));
    this.#openings.clear();
    for (const opened of all)
      if (opened.status === 'fulfilled' && 'cases' in opened.value) await opened.value.close();
  }
}

/** What suites find on this machine. @param downloads folder of what the user has downloaded */
export const suiteHost = (downloads: string, permitServer: SuiteHost['permitServer']): SuiteHost => ({
  shipped: join(repository, 'data'),
  downloads,
  enginePython,
  permitServer,
});

/** The Python of an engine that set-up has installed; null if it is unknown or not installed. */
export async function enginePython(engine: string): Promise<string | null> {
  if (!isEngine(engine)) return null;
  const environment = engineFolder(engine);
  return (await environmentReady(environment)) ? join(environment, 'bin', 'python') : null;
}
