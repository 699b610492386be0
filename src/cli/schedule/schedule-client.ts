import { ScheduleNotFoundError } from '@temporalio/client';
import type { Client, ScheduleHandle } from '@temporalio/client';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import { reachableTemporal } from '../run/reachable-temporal.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { nightSchedules } from './night-schedules.ts';

/**
 * Does something with the server's schedules, and leaves the connection. @throws CliError where no server can
 * be reached
 */
export async function withClient<T>(
  options: TemporalOptions,
  context: CliContext,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await reachableTemporal(options, context);
  if (client === null)
    throw new CliError(
      'no Temporal server runs that could keep a schedule: bring the embedded stack up (npx genenv up), or name a server (--address)',
    );
  try {
    return await work(client);
  } finally {
    await client.connection.close();
  }
}

/** Does something with one schedule. @throws CliError naming the schedules there are */
export async function withSchedule<T>(
  id: string,
  options: TemporalOptions,
  context: CliContext,
  work: (schedule: ScheduleHandle) => Promise<T>,
): Promise<T> {
  return withClient(options, context, async (client) => {
    try {
      return await work(client.schedule.getHandle(id));
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      const known = (await nightSchedules(client)).map((schedule) => schedule.id);
      throw new CliError(
        `schedule: got ${JSON.stringify(id)}, but there is no such schedule; ${known.length === 0 ? 'there are none yet' : `there are: ${known.join(', ')}`}`,
        exitCodes.badInput,
      );
    }
  });
}
