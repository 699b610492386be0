import { homeFolder } from '../context.ts';
import type { CommandParts } from '../command-parts.ts';

export function addReport({ program, context }: CommandParts): void {
  program
    .command('report')
    .description('write the report of a run and print its path')
    .argument('<run>', 'id of the run')
    .addHelpText('after', '\nExample:\n  genenv report laptop')
    .action(async (id: string) => {
      const [{ existingRun }, { writeReport }] = await Promise.all([import('../run/run-folders.ts'), import('../../report/write-report.ts')]);
      const home = homeFolder(context.env);
      await existingRun(home, id);
      context.print(await writeReport({ home, runId: id }));
    });
}
