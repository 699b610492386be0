import type { Experiment } from '../../config/experiment.ts';
import type { TrackerName } from '../../tracking/trackers.ts';
import { exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import {
  addPricesOption,
  addTemporalOptions,
  collectOption,
  requireDryRun,
  SERVED_ADDRESS,
} from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';
import { countText } from '../lib/text.ts';

interface RunOptions extends TemporalOptions {
  id?: string;
  dryRun?: boolean;
  prices?: string;
  only?: boolean;
  track: string[];
}

const EXAMPLES = `
Starting an id again continues from its last finished epoch, with the same file only.
Ctrl-C stops cleanly, a second Ctrl-C at once; either way the same command resumes it.

Examples:
  genenv run experiments/laptop.json
  genenv run experiments/laptop.json --id laptop-2
  genenv run experiments/laptop.json --track wandb,mlflow
  genenv run experiments/laptop.json --dry-run --prices experiments/prices.json
  genenv run experiments/laptop.json --address localhost:7233`;

export function addRun({ program, context, exit }: CommandParts): void {
  const command = program
    .command('run')
    .description('run an experiment, or resume it, and follow it to its end')
    .argument('<file>', 'experiment file')
    .option('--id <id>', 'id of the run: its folder and its workflow id (default: the name in the file)')
    .option('--only', 'leave runs that were interrupted earlier; `genenv resume` continues them')
    .option(
      '--track <trackers>',
      'send its epochs to wandb, mlflow, trackio or tensorboard beside the run (`genenv track`); may be given again',
      collectOption,
      [],
    )
    .option('--dry-run', 'print the resolved file and what the run would take; start nothing');
  addTemporalOptions(addPricesOption(command), SERVED_ADDRESS)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, options: RunOptions) => exit(await runExperiment(file, options, context)));
}

/** Checks everything before it starts or writes anything. */
async function runExperiment(file: string, options: RunOptions, context: CliContext): Promise<ExitCode> {
  const { readExperimentFile } = await import('../lib/read-file.ts');
  const { externalTemporal } = await import('../lib/session.ts');
  requireDryRun(options);
  const trackers = await requireTrackers(options.track);
  const { raw, experiment } = await readExperimentFile(file);
  const id = options.id ?? experiment.name;
  const external = externalTemporal(options, context.env);
  if (options.dryRun === true) {
    context.print(await describeRun(experiment, options.prices, context));
    return exitCodes.ok;
  }
  const { cancelCommand, commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { startOrResume } = await import('../lib/start-experiment.ts');
  const command = (otherId: string | undefined): string =>
    commandLine(['run', file], {
      '--id': otherId,
      '--only': options.only,
      '--track': options.track,
      ...temporalFlags(options),
    });
  const request = {
    raw,
    experiment,
    id,
    home: homeFolder(context.env),
    only: options.only === true,
    trackers,
    resumeCommand: command(id === experiment.name ? undefined : id),
    cancelCommand: cancelCommand(id, options),
    restartCommand: command(`${id}-2`),
  };
  return startOrResume(request, external, context);
}

/** The trackers of `--track`, whose packages are installed. @throws InvalidConfig */
async function requireTrackers(texts: readonly string[]): Promise<TrackerName[]> {
  if (texts.length === 0) return [];
  const { parseTrackers, trackerPython } = await import('../../tracking/trackers.ts');
  const trackers = parseTrackers('--track', texts);
  trackers.forEach(trackerPython);
  return trackers;
}

/** What `--dry-run` prints: the resolved file, then what the run would take. */
async function describeRun(
  experiment: Experiment,
  pricesFile: string | undefined,
  context: CliContext,
): Promise<string> {
  const { loadWorldAsWorker } = await import('../lib/load-world.ts');
  const { bucketLine, diskLines, estimateRun, promptLines, quotaLines } = await import('../lib/estimates.ts');
  const { readQuotas } = await import('../../runs/quotas.ts');
  const { costLines } = await import('../lib/cost-lines.ts');
  const { readPricesFile } = await import('../lib/read-file.ts');
  const prices = pricesFile === undefined ? undefined : await readPricesFile(pricesFile);
  const world = await loadWorldAsWorker(context)(experiment.world);
  const run = await estimateRun(experiment, world);
  const estimate = run.resources;
  const { epochs, maxTokens } = experiment;
  const epochsText = countText(epochs);
  const rolloutsText = countText(estimate.rollouts);
  const rolloutsPerEpoch = countText(estimate.rollouts / epochs);
  const tokenCap = maxTokens === null ? '' : `; capped at ${countText(maxTokens)}`;
  return [
    JSON.stringify(experiment, null, 2),
    '',
    'What it would take, at most:',
    `epochs      ${epochsText}`,
    `tasks       ${countText(estimate.tasks)} written by the simulator`,
    `rollouts    ${rolloutsText} (${rolloutsPerEpoch} an epoch), ` +
      `and ${countText(estimate.evaluations)} of held-out evaluation`,
    `tokens      ${countText(estimate.tokens)} sampled${tokenCap}`,
    ...promptLines(experiment, run),
    `activities  ${countText(estimate.activities)}`,
    `events      about ${countText(estimate.events)} in Temporal's histories, ` +
      `in ${epochsText} epoch workflows and ${countText(estimate.runs)} runs of the experiment's`,
    ...quotaLines(readQuotas(context.env), run),
    ...costLines(experiment, world, run, prices),
    ...diskLines(run),
    bucketLine(experiment, run),
    'Nothing was started or written.',
  ].join('\n');
}
