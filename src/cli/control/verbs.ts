import type { FieldValues } from '../../config/retune.ts';
import type { Retuned } from '../../types/activity-types.ts';
import type { ControlState } from '../../workflows/messages.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { plainTable } from '../show/table.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { sendUpdate } from './ask.ts';
import { runningWorkflow } from './look-up.ts';

export interface ControlOptions extends TemporalOptions {
  json?: boolean;
}

/** `genenv pause`. */
export async function pause(id: string, options: ControlOptions, context: CliContext): Promise<ExitCode> {
  const asked = await sendUpdate<ControlState>(await runningWorkflow(id, options, context), 'pause');
  say(
    asked,
    `${stateOf(id, asked)} The phase under way goes on to its end.\nTo go on: npx genenv resume ${id}`,
    options,
    context,
  );
  return exitCodes.ok;
}

/** `genenv stop`. */
export async function stop(id: string, options: ControlOptions, context: CliContext): Promise<ExitCode> {
  const asked = await sendUpdate<ControlState>(await runningWorkflow(id, options, context), 'stopAfterEpoch');
  say(asked, `${stateOf(id, asked)}\nTo go on after that: npx genenv resume ${id}`, options, context);
  return exitCodes.ok;
}

/** `genenv cancel`. */
export async function cancel(id: string, options: ControlOptions, context: CliContext): Promise<ExitCode> {
  const { handle } = await runningWorkflow(id, options, context);
  await handle.cancel();
  say(
    { cancelRequested: true },
    `${id} is being cancelled: what is under way is saved, then it ends.\nTo go on after that: npx genenv resume ${id}`,
    options,
    context,
  );
  return exitCodes.ok;
}

/** `genenv retune`. */
export async function retune(
  id: string,
  set: FieldValues,
  options: ControlOptions,
  context: CliContext,
): Promise<ExitCode> {
  const retuned = await sendUpdate<Retuned>(await runningWorkflow(id, options, context), 'retune', set);
  const table = plainTable([`from epoch ${retuned.fromEpoch}`, 'value', '']);
  for (const [field, value] of Object.entries(retuned.settings))
    table.push([field, String(value), field in set ? 'retuned' : '']);
  say(retuned, table.toString(), options, context);
  return exitCodes.ok;
}

/** What a run was asked for, and so what happens next. */
export function stateOf(id: string, { paused, stopAfterEpoch }: ControlState): string {
  if (paused)
    return stopAfterEpoch
      ? `${id} is paused; once resumed it stops after the epoch under way.`
      : `${id} is paused.`;
  return stopAfterEpoch ? `${id} stops after the epoch under way.` : `${id} goes on.`;
}

function say(answer: unknown, text: string, { json }: ControlOptions, { print }: CliContext): void {
  print(json === true ? JSON.stringify(answer, null, 2) : text);
}
