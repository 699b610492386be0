import {
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  ServiceError,
} from '@temporalio/client';
import type { Client, ScheduleSpec } from '@temporalio/client';
import { parseNightly } from '../../config/nightly.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { nightlyWorkflow as nightly } from '../../workflows/nightly.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { readJsonFile } from '../run/read-experiment-file.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { withClient } from './schedule-client.ts';

export interface CreateOptions extends TemporalOptions {
  cron?: string;
  every?: string;
  timeZone?: string;
  id?: string;
}

/** `genenv schedule create`: everything is checked before anything is made. */
export async function createSchedule(
  file: string,
  options: CreateOptions,
  context: CliContext,
): Promise<ExitCode> {
  const raw = await readJsonFile('nightly file', file, 'experiments/nightly.json');
  const { name } = parseNightly(raw);
  const spec = specOf(options);
  const id = options.id ?? name;
  return withClient(options, context, async (client) => {
    await create(client, id, name, raw, spec);
    const { info } = await client.schedule.getHandle(id).describe();
    context.print(
      `Created the schedule ${id}; next night: ${info.nextActionTimes[0]?.toISOString() ?? 'none'}. A worker must serve it then (npx genenv up).`,
    );
    context.print(
      `To look after it: npx genenv schedule list; to start a night now: npx genenv schedule trigger ${id}`,
    );
    return exitCodes.ok;
  });
}

/**
 * Policies that fit nights: one at a time, six hours to catch up, and a pause after a failure, so that a
 * person looks.
 */
async function create(
  client: Client,
  id: string,
  name: string,
  file: unknown,
  spec: ScheduleSpec,
): Promise<void> {
  try {
    await client.schedule.create<typeof nightly>({
      scheduleId: id,
      spec,
      action: {
        type: 'startWorkflow',
        workflowType: 'nightly',
        workflowId: name,
        taskQueue: queues.workflows,
        args: [file],
      },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '6h', pauseOnFailure: true },
    });
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning)
      throw new CliError(
        `--id: got ${JSON.stringify(id)}, but there is such a schedule already; delete it first (npx genenv schedule delete ${id}: record and runs stay), or give another`,
        exitCodes.badInput,
      );
    // The server reads cron expressions and time zones; what it says of them is all there is to say.
    if (error instanceof ServiceError && isGrpcServiceError(error.cause))
      throw new CliError(`schedule: ${error.cause.details}`, exitCodes.badInput);
    throw error;
  }
}

function specOf({ cron, every, timeZone }: CreateOptions): ScheduleSpec {
  if ((cron === undefined) === (every === undefined))
    throw new CliError(
      `--cron, --every: got ${cron === undefined ? 'neither' : 'both'}; expected one of them, such as --cron "0 2 * * *" or --every 24h`,
      exitCodes.badInput,
    );
  if (cron !== undefined)
    return { cronExpressions: [cron], ...(timeZone === undefined ? {} : { timezone: timeZone }) };
  if (timeZone !== undefined)
    throw new CliError(
      `--time-zone: got ${JSON.stringify(timeZone)} with --every, which counts from the epoch in UTC; use --cron`,
      exitCodes.badInput,
    );
  const interval = /^(\d{1,6})([smhd])$/.exec(every ?? '');
  if (interval === null || Number(interval[1]) === 0)
    throw new CliError(
      `--every: got ${JSON.stringify(every)}; expected a whole number of 1 or more with s, m, h or d, such as 24h`,
      exitCodes.badInput,
    );
  return {
    intervals: [
      {
        every:
          1000 *
          Number(interval[1]) *
          { s: 1, m: 60, h: 3600, d: 86_400 }[interval[2] as 's' | 'm' | 'h' | 'd'],
      },
    ],
  };
}
