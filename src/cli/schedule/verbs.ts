import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { nightSchedules } from './night-schedules.ts';
import { withClient, withSchedule } from './schedule-client.ts';
import { scheduleTable } from './schedule-table.ts';

export interface ListOptions extends TemporalOptions {
  json?: boolean;
}
export interface PauseOptions extends TemporalOptions {
  note?: string;
}
export interface BackfillOptions extends TemporalOptions {
  from: string;
  to: string;
}

/** `genenv schedule list`. */
export async function list(options: ListOptions, context: CliContext): Promise<ExitCode> {
  return withClient(options, context, async (client) => {
    if (options.json === true) context.print(JSON.stringify(await nightSchedules(client), null, 2));
    else
      context.print(
        (await scheduleTable(client, context)) ||
          'No schedules of nights yet. Make one: npx genenv schedule create experiments/nightly.json --cron "0 2 * * *"',
      );
    return exitCodes.ok;
  });
}

/** `genenv schedule pause`. */
export async function pause(id: string, options: PauseOptions, context: CliContext): Promise<ExitCode> {
  await withSchedule(id, options, context, (schedule) => schedule.pause(options.note));
  context.print(`${id} is paused; a night that runs goes on. To go on: npx genenv schedule resume ${id}`);
  return exitCodes.ok;
}

/** `genenv schedule resume`. */
export async function resume(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  const next = await withSchedule(id, options, context, async (schedule) => {
    await schedule.unpause();
    return (await schedule.describe()).info.nextActionTimes[0];
  });
  context.print(`${id} goes on; next night: ${next?.toISOString() ?? 'none'}.`);
  return exitCodes.ok;
}

/** `genenv schedule trigger`. Without a policy the client would allow a second night beside one that runs. */
export async function trigger(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  await withSchedule(id, options, context, (schedule) => schedule.trigger(ScheduleOverlapPolicy.SKIP));
  context.print(`${id} starts a night now, unless one runs.`);
  return exitCodes.ok;
}

/** `genenv schedule backfill`: nights go on from one another, so they wait for one another. */
export async function backfill(id: string, options: BackfillOptions, context: CliContext): Promise<ExitCode> {
  const [start, end] = [time('--from', options.from), time('--to', options.to)];
  if (end <= start)
    throw new CliError(
      `--to: got ${JSON.stringify(options.to)}; expected a time after --from (${options.from})`,
      exitCodes.badInput,
    );
  await withSchedule(id, options, context, (schedule) =>
    schedule.backfill({ start, end, overlap: ScheduleOverlapPolicy.BUFFER_ALL }),
  );
  context.print(
    `${id} runs the nights from ${start.toISOString()} to ${end.toISOString()}, one after the other.`,
  );
  return exitCodes.ok;
}

/** `genenv schedule delete`. */
export async function remove(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  await withSchedule(id, options, context, (schedule) => schedule.delete());
  context.print(`${id} is deleted; its record and its runs stay.`);
  return exitCodes.ok;
}

function time(flag: string, text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime()))
    throw new CliError(
      `${flag}: got ${JSON.stringify(text)}; expected a time such as 2026-11-20T00:00:00Z`,
      exitCodes.badInput,
    );
  return date;
}
