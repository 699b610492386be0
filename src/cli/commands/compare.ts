import type { CommandParts } from '../command-parts.ts';
import { withTemporal } from '../temporal-options.ts';
import type { TemporalOptions } from '../temporal-options.ts';

export interface CompareOptions extends TemporalOptions {
  id?: string;
  docs?: string;
  dryRun?: boolean;
}

export function addCompare({ program, context, exit }: CommandParts): void {
  const command = program
    .command('compare')
    .description('run the arms of a comparison under its seeds, or go on with them, and sum them up')
    .argument('<file>', 'comparison file')
    .option(
      '--id <id>',
      'id of the comparison: its folder and its workflow id (default: the name in the file)',
    )
    .option('--docs <path>', 'write the results there too, such as docs/results.md')
    .option('--dry-run', 'print the runs and what they would take; start nothing');
  withTemporal(
    command,
    'an own Temporal server instead of the embedded stack; a worker must serve it (npm run worker)',
  )
    .addHelpText('after', examples)
    .action(async (file: string, options: CompareOptions) => {
      const { compare } = await import('../compare/compare.ts');
      exit(await compare(file, options, context));
    });
}

const examples = `
Runs that are finished are not run again. Starting an id again goes on, with the same file only.

Examples:
  genenv compare experiments/compare-tiny.json
  genenv compare experiments/compare-laptop.json --docs docs/results.md
  genenv compare experiments/compare-laptop.json --dry-run`;
