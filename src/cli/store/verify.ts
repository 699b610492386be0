import { join } from 'node:path';
import { requireRun } from '../../runs/run-state.ts';
import { verifyRun } from '../../runs/verify.ts';
import { ObjectStore } from '../../store/object-store.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { byteText, plural } from '../show/units.ts';

const SHOWN = 10;

/** `genenv verify`. */
export async function verify(id: string, { env, print, warn }: CliContext): Promise<ExitCode> {
  const home = homeFolder(env);
  const run = await requireRun(home, id);
  const {
    lines,
    objects,
    bytes: size,
    pruned,
    problems,
  } = await verifyRun(new ObjectStore(join(home, 'store')), run);
  if (problems.length === 0) {
    print(
      `${id}: whole. ${plural(lines, 'ledger line')}, ${plural(objects, 'object')} (${byteText(size)})${pruned === 0 ? '' : `, ${pruned} pruned by retention`}.`,
    );
    return exitCodes.ok;
  }
  for (const { file, problem } of problems.slice(0, SHOWN)) warn(`${id}: ${file}: ${problem}`);
  if (problems.length > SHOWN) warn(`${id}: and ${problems.length - SHOWN} more`);
  return exitCodes.failed;
}
