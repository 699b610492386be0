import type { CommandParts } from '../command-parts.ts';
import type { CliContext } from '../context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { withTemporal } from '../temporal-options.ts';
import type { TemporalOptions } from '../temporal-options.ts';

export interface RunOptions extends TemporalOptions {
  id?: string;
  dryRun?: boolean;
}

export function addRun({ program, context, exit }: CommandParts): void {
  const command = program
    .command('run')
    .description('run an experiment, or go on with it, and follow it to its end')
    .argument('<file>', 'experiment file')
    .option('--id <id>', 'id of the run: its folder and its workflow id (default: the name in the file)')
    .option('--dry-run', 'print the resolved file and what the run would take; start nothing');
  withTemporal(
    command,
    'an own Temporal server instead of the embedded stack; a worker must serve it (npm run worker)',
  )
    .addHelpText('after', examples)
    .action(async (file: string, options: RunOptions) => exit(await run(file, options, context)));
}

async function run(file: string, options: RunOptions, context: CliContext): Promise<ExitCode> {
  const { runExperiment } = await import('../run/run-experiment.ts');
  return runExperiment(file, options, context);
}

const examples = `
Starting an id again goes on from its last finished epoch, with the same file only.
Ctrl-C stops cleanly, a second Ctrl-C at once; either way the same command goes on.

Examples:
  genenv run experiments/laptop.json
  genenv run experiments/laptop.json --id laptop-2
  genenv run experiments/laptop.json --dry-run
  genenv run experiments/laptop.json --address localhost:7233`;
