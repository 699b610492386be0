import { join } from 'node:path';
import { ObjectStore } from '../../store/object-store.ts';
import { verifyRun } from '../../store/verify.ts';
import { homeFolder } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CommandParts } from '../program.ts';
import { existingRun } from '../run/run-folders.ts';
import { bytes, plural } from '../show/units.ts';

export function addVerify({ program, context, exit }: CommandParts): void {
  program
    .command('verify')
    .description('check the ledger of a run and every file that it names; exits 1 naming the first bad file')
    .argument('<run>', 'id of the run')
    .addHelpText('after', '\nExample:\n  genenv verify laptop')
    .action(async (id: string) => {
      const home = homeFolder(context.env);
      const run = await existingRun(home, id);
      const report = await verifyRun(new ObjectStore(join(home, 'store')), run);
      const [first, ...others] = report.problems;
      if (first === undefined) {
        const pruned = report.pruned === 0 ? '' : `, ${report.pruned} pruned by retention`;
        context.print(`${id}: whole. ${plural(report.lines, 'ledger line')}, ${plural(report.objects, 'object')} (${bytes(report.bytes)})${pruned}.`);
        return;
      }
      context.warn(`${id}: ${first.file}: ${first.problem}`);
      for (const { file, problem } of others.slice(0, 9)) context.warn(`also ${file}: ${problem}`);
      if (others.length > 9) context.warn(`and ${others.length - 9} more`);
      exit(exitCodes.failed);
    });
}
