import { benchmarks, suiteHost, SuiteLoader } from '../../benchmarks/registry.ts';
import { workerSettings } from '../../worker/settings.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { plainTable } from '../show/table.ts';
import { whole } from '../show/units.ts';

/** `genenv suites`: what a worker on this machine would find. */
export async function suites({ env, print }: CliContext): Promise<ExitCode> {
  const settings = { toolFormat: 'prompt', search: null } as const;
  const loader = new SuiteLoader(
    benchmarks,
    suiteHost(workerSettings(env, undefined).benchmarks, (name) => env[name]),
  );
  const table = plainTable(['suite', 'cases', 'what it is']);
  const missing: string[] = [];
  try {
    for (const suite of loader.select(['*'])) {
      const needs = suite.refuses(settings);
      const opened = needs === null ? await loader.open(suite, settings) : null;
      const isHere = opened !== null && 'cases' in opened;
      table.push([suite.name, isHere ? whole(opened.cases.length) : '–', suite.about]);
      if (!isHere) missing.push(`${suite.name}: ${opened?.missing ?? needs}`);
    }
  } finally {
    await loader.close();
  }
  print(table.toString());
  for (const line of missing) print(line);
  return exitCodes.ok;
}
