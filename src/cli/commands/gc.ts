import type { CommandParts } from '../command-parts.ts';
import { parseWholeNumber } from '../whole-number.ts';

export interface GcOptions {
  dryRun?: boolean;
  keepLast: number;
  keepEvery: number;
  keepBest: boolean;
}

export function addGc({ program, context }: CommandParts): void {
  program
    .command('gc')
    .description('remove checkpoints that are not kept, finished work and what killed processes left')
    .option('--dry-run', 'only say what would go')
    .option(
      '--keep-last <n>',
      'keep the checkpoints of the last n epochs of each run',
      parseWholeNumber('--keep-last', 1),
      2,
    )
    .option('--keep-every <n>', 'and of every n-th epoch; 0 = none', parseWholeNumber('--keep-every', 0), 10)
    .option('--no-keep-best', 'do not keep the checkpoints with the best held-out success')
    .addHelpText('after', '\nExamples:\n  genenv gc --dry-run\n  genenv gc --keep-last 5 --keep-every 20')
    .action(async (options: GcOptions) => {
      const { gc } = await import('../store/gc.ts');
      await gc(options, context);
    });
}
