import type { CommandParts } from '../context.ts';

export function addPaired({ program, context, exit }: CommandParts): void {
  program
    .command('paired')
    .description('two evaluations case by case: exact McNemar test')
    .argument('<first>', 'id of an evaluation')
    .argument('<second>', 'id of another')
    .addHelpText('after', '\nExample:\n  genenv paired trained warm')
    .action(async (first: string, second: string) => {
      const { showPaired } = await import('../lib/scores.ts');
      exit(await showPaired(first, second, context));
    });
}
