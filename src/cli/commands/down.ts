import type { CommandParts } from '../command-parts.ts';

export function addDown({ program, context, exit }: CommandParts): void {
  program
    .command('down')
    .description(
      'stop the embedded stack; a run that uses it is interrupted, and goes on when it is started again',
    )
    .addHelpText('after', '\nExample:\n  genenv down')
    .action(async () => {
      const { down } = await import('../stack/down.ts');
      exit(await down(context));
    });
}
