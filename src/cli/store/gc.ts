import { join } from 'node:path';
import { collectGarbage } from '../../runs/garbage-collection.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { runsFolder } from '../../runs/run-state.ts';
import { ObjectStore } from '../../store/object-store.ts';
import type { GcOptions } from '../commands/gc.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { plainTable } from '../show/table.ts';
import { byteText, plural } from '../show/units.ts';

/** `genenv gc`. */
export async function gc(
  { dryRun = false, keepLast, keepEvery, keepBest }: GcOptions,
  { env, print }: CliContext,
): Promise<void> {
  const home = homeFolder(env);
  const runs = await RunFolder.list(runsFolder(home));
  const keep = { last: keepLast, every: keepEvery, best: keepBest };
  const { items, bytes: freed } = await collectGarbage(new ObjectStore(join(home, 'store')), runs, {
    keep,
    dryRun,
  });
  const table = plainTable(['what', 'number', 'size']);
  for (const [kind, size] of Object.entries(freed)) {
    const count = items.filter((item) => item.kind === kind).length;
    if (count > 0) table.push([kind.replace('_', ' '), count, byteText(size)]);
  }
  if (items.length > 0) print(table.toString());
  const total = Object.values(freed).reduce((sum, size) => sum + size, 0);
  print(
    `${dryRun ? 'Would free' : 'Freed'} ${byteText(total)} in ${plural(items.length, 'item')}, of ${plural(runs.length, 'run')} in ${home}.`,
  );
}
