import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { countText } from '../lib/text.ts';

export function addSuites({ program, context, exit }: CommandParts): void {
  program
    .command('suites')
    .description('suites of the benchmarks: which are here, and what the others need')
    .addHelpText('after', '\nExample:\n  genenv suites')
    .action(async () => exit(await listSuites(context)));
}

/** Opens each suite as a worker on this machine would. */
async function listSuites({ env, print }: CliContext): Promise<ExitCode> {
  const { benchmarks, suiteHost, SuiteLoader } = await import('../../benchmarks/registry.ts');
  const { workerSettings } = await import('../../worker/settings.ts');
  const { plainTable } = await import('../lib/table.ts');
  const settings = { toolFormat: 'prompt', search: null } as const;
  const { permitServer, serverResolver } = await import('../../inference/endpoints.ts');
  const { benchmarks: downloads, endpoints } = workerSettings(env, undefined);
  const host = suiteHost(downloads, permitServer(serverResolver(endpoints, env)));
  const loader = new SuiteLoader(benchmarks, host);
  const table = plainTable(['suite', 'cases', 'what it is']);
  const missing: string[] = [];
  try {
    for (const suite of loader.select(['*'])) {
      const needs = suite.refuses(settings);
      const opened = needs === null ? await loader.open(suite, settings) : null;
      const isHere = opened !== null && 'cases' in opened;
      table.push([suite.name, isHere ? countText(opened.cases.length) : '–', suite.about]);
      if (!isHere) missing.push(`${suite.name}: ${opened?.missing ?? needs}`);
    }
  } finally {
    await loader.close();
  }
  print(table.toString());
  for (const line of missing) print(line);
  return exitCodes.ok;
}
