import type { CommandParts } from '../command-parts.ts';
import { homeFolder } from '../context.ts';

export function addReport({ program, context }: CommandParts): void {
  program
    .command('report')
    .description('write the report and the TensorBoard files of a run, and print where the report is')
    .argument('<run>', 'id of the run')
    .addHelpText('after', '\nExample:\n  genenv report laptop')
    .action(async (id: string) => {
      const [{ requireRun }, { writeResults }] = await Promise.all([
        import('../../runs/run-state.ts'),
        import('../run/write-results.ts'),
      ]);
      const home = homeFolder(context.env);
      await requireRun(home, id);
      context.print(await writeResults(home, id, context));
    });
}
