import type { CommandParts } from '../context.ts';

export function addPaired({ program, context, exit }: CommandParts): void {
  program
    .command('paired')
    .description('two evaluations case by case: exact McNemar test')
    .argument('<first>', 'id of an evaluation')
    .argument('<second>', 'id of another')
    .option('--html <file>', 'write a page with both answers to every case, too')
    .addHelpText(
      'after',
      '\nExamples:\n  genenv paired trained warm\n  genenv paired trained warm --html paired.html',
    )
    .action(async (first: string, second: string, { html }: { html?: string }) => {
      const { showPaired } = await import('../lib/scores.ts');
      exit(await showPaired(first, second, context, html));
    });
}
