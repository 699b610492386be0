import type { Missing, OpenSuite } from '../../benchmarks/suite.ts';
import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { countText, wrapText } from '../lib/text.ts';

export function addSuites({ program, context, exit }: CommandParts): void {
  program
    .command('suites')
    .description('suites of the benchmarks: which are here, and what the others need')
    .addHelpText('after', '\nExample:\n  genenv suites')
    .action(async () => exit(await listSuites(context)));
}

/** Engines that start at a time: each takes a second or more. */
const MAX_OPENING_SUITES = 2;

const neverAborted = new AbortController().signal;

/** The number of its cases, or what it lacks. */
const contentsOf = (opened: OpenSuite | Missing): { cases: number } | Missing =>
  'missing' in opened ? opened : { cases: opened.cases.length };

/** Opens each suite as a worker on this machine would, and prints a line as soon as it is known. */
async function listSuites({ env, print }: CliContext): Promise<ExitCode> {
  const { benchmarks, suiteHost } = await import('../../benchmarks/registry.ts');
  const { SuiteLoader } = await import('../../benchmarks/suite-loader.ts');
  const { workerSettings } = await import('../../worker/settings.ts');
  const { pMapIterable } = await import('p-map');
  const settings = { toolFormat: 'prompt', search: null } as const;
  const { permitServer, serverResolver } = await import('../../inference/endpoints.ts');
  const { benchmarks: downloads, endpoints } = workerSettings(env, undefined);
  const host = suiteHost(downloads, permitServer(serverResolver(endpoints, env)));
  const loader = new SuiteLoader(benchmarks, host);
  const suites = loader.select(['*']);
  const width = Math.max(...suites.map(({ name }) => name.length));
  const line = (name: string, cases: string, about: string): string => {
    const columns = `${name.padEnd(width)}  ${cases.padStart(6)}  `;
    // Widths of columns count the spaces between words that must not be broken.
    return wrapText(`${columns.replaceAll(' ', '\u00a0')}${about}`, columns.length).replaceAll('\u00a0', ' ');
  };
  /** Names of suites by what they lack. */
  const missing = new Map<string, string[]>();
  print(line('suite', 'cases', 'what it is'));
  try {
    const opened = pMapIterable(
      suites,
      async (suite) => {
        const needs = suite.refuses(settings);
        if (needs !== null) return { suite, missing: needs };
        return loader.use(suite, settings, neverAborted, (opened) => ({ suite, ...contentsOf(opened) }));
      },
      { concurrency: MAX_OPENING_SUITES },
    );
    for await (const { suite, ...contents } of opened) {
      const { name, about } = suite;
      const isMissing = 'missing' in contents;
      print(line(name, isMissing ? '–' : countText(contents.cases), about));
      if (isMissing) missing.set(contents.missing, [...(missing.get(contents.missing) ?? []), name]);
    }
  } finally {
    await loader.close();
  }
  for (const [reason, names] of missing)
    print(`\n${wrapText(`Not here: ${names.join(', ')}`, 2)}\n${wrapText(`  ${reason}`, 2)}`);
  return exitCodes.ok;
}
