import type { Comparison } from '../../config/comparison.ts';
import type { Usage } from '../../runs/costs.ts';
import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import {
  addPricesOption,
  addTemporalOptions,
  requireDryRun,
  requireId,
  SERVED_ADDRESS,
} from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';
import { byteText, countText } from '../lib/text.ts';

interface CompareOptions extends TemporalOptions {
  id?: string;
  docs?: string;
  runs?: string[];
  saveRuns?: string;
  dryRun?: boolean;
  prices?: string;
}

const EXAMPLES = `
Runs that are finished are not run again. Starting an id again continues, with the same file only.

Examples:
  genenv compare experiments/compare-tiny.json
  genenv compare experiments/compare-main.json --docs docs/results-main.md
  genenv compare experiments/compare-main.json --save-runs docs/results-main.runs.jsonl
  genenv compare experiments/compare-main.json --runs docs/results-main.runs.jsonl --docs docs/results-main.md
  genenv compare experiments/compare-main.json --dry-run --prices experiments/prices.json`;

export function addCompare({ program, context, exit }: CommandParts): void {
  const command = program
    .command('compare')
    .description('run the arms of a comparison under its seeds, or resume them, and sum them up')
    .argument('<file>', 'comparison file')
    .option(
      '--id <id>',
      'id of the comparison: its folder and its workflow id (default: the name in the file)',
    )
    .option('--docs <path>', 'write the results there too, such as docs/results-main.md')
    .option(
      '--runs <path>',
      'a file of runs that another home has finished, made by --docs or --save-runs; may be repeated',
      (path: string, paths: string[]) => [...paths, path],
      [],
    )
    .option('--save-runs <path>', 'write the finished runs of this home to a file for --runs; start nothing')
    .option('--dry-run', 'print the runs and what they would take; start nothing');
  addTemporalOptions(addPricesOption(command), SERVED_ADDRESS)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, options: CompareOptions) => exit(await compare(file, options, context)));
}

/** Checks everything before it starts or writes anything. */
async function compare(file: string, options: CompareOptions, context: CliContext): Promise<ExitCode> {
  const { comparisonIdPattern, comparisonIdRule, parseComparison } =
    await import('../../config/comparison.ts');
  const { readInputFile } = await import('../lib/read-file.ts');
  requireDryRun(options);
  const raw = await readInputFile('comparison file', file, 'experiments/compare-main.json');
  const comparison = parseComparison(raw);
  const id = options.id ?? comparison.name;
  requireId(id, comparisonIdPattern, comparisonIdRule);
  if (options.dryRun === true) {
    context.print(await describeComparison(id, comparison, options.prices, context));
    return exitCodes.ok;
  }
  const { carryRuns, saveRuns } = await import('../lib/carried-runs.ts');
  if (options.saveRuns !== undefined) return saveRuns(id, comparison, options.saveRuns, context);
  await carryRuns(id, comparison, options.runs ?? [], context);
  const { cancelCommand, commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { runInSession } = await import('../lib/follow.ts');
  const { runComparison } = await import('../lib/run-comparison.ts');
  const { showComparison } = await import('../lib/comparison-results.ts');
  const { externalTemporal } = await import('../lib/session.ts');
  const { needsOf, requireEngines } = await import('../lib/needs.ts');
  const { requireServersPermitted } = await import('../lib/server-permission.ts');
  const external = externalTemporal(options, context.env);
  const arms = Object.values(comparison.arms);
  const needs = needsOf(arms);
  if (external === null) {
    requireEngines(needs, arms);
    requireServersPermitted(arms, context);
  }
  return runInSession(external, context, {
    use: { needs, own: id },
    page: `comparisons/${id}`,
    resumeCommand: commandLine(['compare', file], {
      '--id': options.id,
      '--docs': options.docs,
      '--runs': options.runs,
      ...temporalFlags(options),
    }),
    cancelCommand: cancelCommand(id, options),
    follow: (session, interruption) => runComparison(session, { id, raw, comparison }, context, interruption),
    end: () => showComparison(id, options.docs, context),
  });
}

/** What `--dry-run` prints: the arms, what a run of each would take, and all of them together. */
async function describeComparison(
  id: string,
  comparison: Comparison,
  pricesFile: string | undefined,
  context: CliContext,
): Promise<string> {
  const { armRuns } = await import('../../comparison/plan.ts');
  const { estimateRun } = await import('../lib/estimates.ts');
  const { estimateUsage, usageLines } = await import('../lib/cost-lines.ts');
  const { gpuHours, priceOf, sumUsage } = await import('../../runs/costs.ts');
  const { readPricesFile } = await import('../lib/read-file.ts');
  const { plainTable } = await import('../lib/table.ts');
  const { loadWorldAsWorker } = await import('../lib/load-world.ts');
  const loadWorld = loadWorldAsWorker(context);
  const { arms, seeds, concurrency } = comparison;
  const prices = pricesFile === undefined ? undefined : await readPricesFile(pricesFile);
  const columns = [
    'arm',
    'epochs',
    'rollouts',
    'held-out attempts',
    'tokens sampled',
    'tokens read',
    'actions',
    'disk',
  ];
  const table = plainTable(prices === undefined ? columns : [...columns, 'GPU hours', prices.currency]);
  const total = { tokens: 0, disk: 0 };
  const usages: Usage[] = [];
  for (const [arm, experiment] of Object.entries(arms)) {
    const world = await loadWorld(experiment.world);
    const run = await estimateRun(experiment, world);
    const { resources, disk: parts } = run;
    const usage = sumUsage(estimateUsage(experiment, world, run, prices));
    usages.push(...seeds.map(() => usage));
    const { rollouts, evaluations, tokens } = resources;
    const disk = parts.policies + parts.records;
    const read = usage.tokensRead ?? 0;
    const counts = [experiment.epochs, rollouts, evaluations, tokens, read, usage.actions].map(countText);
    const money =
      prices === undefined
        ? []
        : [gpuHours(usage, prices.gpus)?.toFixed(1) ?? '–', priceOf(usage, prices).total.toFixed(2)];
    table.push([arm, ...counts, byteText(disk), ...money]);
    total.tokens += tokens * seeds.length;
    total.disk += disk * seeds.length;
  }
  const runs = armRuns(id, comparison);
  return [
    'A run of each arm, at most:',
    table.toString(),
    '',
    ...(await describeMeasures(comparison)),
    `runs    ${runs.length}, ${concurrency} at a time: ${runs[0]!.id} to ${runs.at(-1)!.id}`,
    `tokens  ${countText(total.tokens)} sampled by the runs`,
    `disk    about ${byteText(total.disk)} in the store`,
    ...usageLines(sumUsage(usages), prices),
    'Nothing was started or written.',
  ].join('\n');
}

/** What is sampled once the runs are finished. */
async function describeMeasures({ crossPlay, probes }: Comparison): Promise<string[]> {
  const { probingAttempts } = await import('../../comparison/plan.ts');
  const lines: string[] = [];
  if (crossPlay !== null) {
    const { arms, seeds, checkpoints, tasks, samples } = crossPlay;
    const tasksWritten = arms.length * seeds.length * checkpoints * tasks;
    const attempts = tasksWritten * checkpoints * samples;
    lines.push(`cross-play  ${countText(tasksWritten)} tasks written, ${countText(attempts)} attempts`);
  }
  if (probes !== null) {
    const { arms, seeds, checkpoints } = probes;
    const attempts = arms.length * seeds.length * checkpoints * probingAttempts(probes);
    lines.push(`probes  ${countText(attempts)} attempts`);
  }
  return lines;
}
