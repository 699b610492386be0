import type { FieldValues } from '../../config/retune.ts';
import { rewindFolder } from '../../runs/rewind.ts';
import { requireRun } from '../../runs/run-state.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { plural } from '../show/units.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { lookUp } from './look-up.ts';

export interface RewindOptions extends TemporalOptions {
  epoch: number;
  set: string[];
  json?: boolean;
}

/** `genenv rewind`. */
export async function rewind(
  id: string,
  set: FieldValues,
  options: RewindOptions,
  context: CliContext,
): Promise<ExitCode> {
  const home = homeFolder(context.env);
  const folder = await requireRun(home, id);
  if ((await lookUp(id, options, context))?.running === true) {
    throw new CliError(
      `${id} is running: end it first, with \`npx genenv stop ${id}\` (after its epoch) or \`npx genenv cancel ${id}\` (now)`,
    );
  }
  const rewound = await rewindFolder(folder, home, { epoch: options.epoch, set });
  context.print(options.json === true ? JSON.stringify(rewound, null, 2) : text(id, rewound, options));
  return exitCodes.ok;
}

function text(
  id: string,
  { epoch, dropped, branch }: Awaited<ReturnType<typeof rewindFolder>>,
  { set }: RewindOptions,
): string {
  return [
    `${id} is at epoch ${epoch}${branch === null ? ', its last one' : `; ${plural(dropped, 'epoch')} after it kept in ${branch}`}.`,
    ...(set.length === 0 ? [] : [`From epoch ${epoch + 1} on: ${set.join(', ')}`]),
    `To go on: npx genenv resume ${id}`,
  ].join('\n');
}
