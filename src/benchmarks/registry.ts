import { join } from 'node:path';
import { engineFolder, isEngine, repository } from '../../infra/setup/locations.mjs';
import { environmentReady } from '../../infra/setup/virtual-environment.mjs';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { nearestName } from '../validation/issue-messages.ts';
import { alfworld } from './alfworld/alfworld.ts';
import { apiBank } from './api-bank/api-bank.ts';
import { bamboogle } from './bamboogle/bamboogle.ts';
import { bfcl } from './bfcl/bfcl.ts';
import type { Benchmark, Suite, SuiteHost } from './suite.ts';
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
