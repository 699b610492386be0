import type { CommandParts } from '../command-parts.ts';

export function addUp({ program, context, exit }: CommandParts): void {
  program
    .command('up')
    .description(
      'start the embedded stack alone and leave it running: Temporal, policy server, trainer, worker',
    )
    .option('--foreground', 'stay, and stop the stack on Ctrl-C')
    .addHelpText(
      'after',
      '\nExamples:\n  genenv up\n  TEMPORAL_CONFIG_FILE=.genenv/stack/temporal.toml temporal workflow list\n  genenv down',
    )
    .action(async ({ foreground }: { foreground?: boolean }) => {
      const { upInBackground, upInForeground } = await import('../stack/up.ts');
      exit(await (foreground === true ? upInForeground(context) : upInBackground(context)));
    });
}
