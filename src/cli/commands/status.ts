import type { CommandParts } from '../command-parts.ts';
import { withTemporal } from '../temporal-options.ts';
import type { TemporalOptions } from '../temporal-options.ts';

export interface StatusOptions extends TemporalOptions {
  json?: boolean;
  watch?: boolean;
}

export function addStatus({ program, context, exit }: CommandParts): void {
  const command = program
    .command('status')
    .description('all runs of this home, or one in detail')
    .argument('[run]', 'id of a run')
    .option('--json', 'print JSON')
    .option('--watch', 'again and again, until Ctrl-C');
  withTemporal(command)
    .addHelpText(
      'after',
      '\nExamples:\n  genenv status\n  genenv status laptop --watch\n  genenv status --json | jq .',
    )
    .action(async (id: string | undefined, options: StatusOptions) => {
      const { status } = await import('../status/status.ts');
      exit(await status(id, options, context));
    });
}
