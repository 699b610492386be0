import type { CommandParts } from '../context.ts';

interface SweepOptions {
  difference: string[];
  measure: string;
  out?: string;
}

const EXAMPLE = `
Each summary is one comparison: its summary.json, or the file that --docs wrote beside its results. The comparisons
differ in how hard the tasks are that their runs begin with (world.baseLengths), and have the same arms.

Example:
  genenv sweep docs/results-steps-p*.json --difference tuned-all:random-all --out docs/sweep`;

export function addSweep({ program, context, exit }: CommandParts): void {
  program
    .command('sweep')
    .description('the difference of two arms over several comparisons, by how hard their first tasks are')
    .argument('<summaries...>', 'summaries of comparisons')
    .requiredOption(
      '--difference <arm:against>',
      'two arms; may be repeated',
      (pair: string, pairs: string[] | undefined) => [...(pairs ?? []), pair],
    )
    .option('--measure <name>', 'figure that is compared', 'area')
    .option('--out <path>', 'write <path>.svg and <path>.md')
    .addHelpText('after', EXAMPLE)
    .action(async (summaries: string[], options: SweepOptions) => {
      const { showSweep } = await import('../lib/sweep.ts');
      exit(await showSweep(summaries, options, context));
    });
}
