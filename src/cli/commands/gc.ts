import { join } from 'node:path';
import { ObjectStore } from '../../store/object-store.ts';
import { RunFolder } from '../../store/run-folder.ts';
import { collectGarbage } from '../../store/gc.ts';
import { homeFolder } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { CommandParts } from '../program.ts';
import { runsFolder } from '../run/run-folders.ts';
import { plainTable } from '../show/table.ts';
import { bytes, plural } from '../show/units.ts';

export function addGc({ program, context }: CommandParts): void {
  const whole = (flag: string, least: number) => (text: string): number => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < least) throw new CliError(`${flag}: got ${JSON.stringify(text)}; expected a whole number of ${least} or more`, exitCodes.badInput);
    return value;
  };
  program
    .command('gc')
    .description('remove checkpoints that are not kept, finished work and what killed processes left')
    .option('--dry-run', 'only say what would go')
    .option('--keep-last <n>', 'keep the checkpoints of the last n epochs of each run', whole('--keep-last', 1), 2)
    .option('--keep-every <n>', 'and of every n-th epoch; 0 = none', whole('--keep-every', 0), 10)
    .option('--no-keep-best', 'do not keep the checkpoints with the best held-out success')
    .addHelpText('after', '\nExamples:\n  genenv gc --dry-run\n  genenv gc --keep-last 5 --keep-every 20')
    .action(async ({ dryRun = false, keepLast, keepEvery, keepBest }: { dryRun?: boolean; keepLast: number; keepEvery: number; keepBest: boolean }) => {
      const home = homeFolder(context.env);
      const runs = await RunFolder.list(runsFolder(home));
      const keep = { last: keepLast, every: keepEvery, best: keepBest };
      const { items, bytes: freed } = await collectGarbage(new ObjectStore(join(home, 'store')), runs, { keep, dryRun });
      const table = plainTable(['what', 'number', 'size']);
      for (const [kind, size] of Object.entries(freed)) {
        const count = items.filter((item) => item.kind === kind).length;
        if (count > 0) table.push([kind.replace('_', ' '), count, bytes(size)]);
      }
      if (items.length > 0) context.print(table.toString());
      const total = Object.values(freed).reduce((sum, size) => sum + size, 0);
      context.print(`${dryRun ? 'Would free' : 'Freed'} ${bytes(total)} in ${plural(items.length, 'item')}, of ${plural(runs.length, 'run')} in ${home}.`);
    });
}
