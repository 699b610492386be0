import type { CommandParts } from '../command-parts.ts';
import type { TemporalOptions } from '../run/temporal-target.ts';

export interface StatusOptions extends TemporalOptions {
  json?: boolean;
  watch?: boolean;
}

export function addStatus({ program, context, exit }: CommandParts): void {
  program
    .command('status')
    .description('all runs of this home, or one in detail')
    .argument('[run]', 'id of a run')
    .option('--json', 'print JSON')
    .option('--watch', 'again and again, until Ctrl-C')
    .option('--address <host:port>', 'ask this Temporal server instead of the embedded one')
    .option('--namespace <name>', 'namespace on that server')
    .option('--profile <name>', 'profile of the Temporal configuration file')
    .addHelpText('after', '\nExamples:\n  genenv status\n  genenv status laptop --watch\n  genenv status --json | jq .')
    .action(async (id: string | undefined, options: StatusOptions) => {
      const { status } = await import('../status/status.ts');
      exit(await status(id, options, context));
    });
}
