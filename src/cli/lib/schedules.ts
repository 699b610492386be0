import { join } from 'node:path';
import {
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ServiceError,
} from '@temporalio/client';
import type { Client, ScheduleDescription, ScheduleHandle, ScheduleSpec } from '@temporalio/client';
import { NightlyFolder } from '../../runs/result-folders.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { nightlyWorkflow } from '../../workflows/nightly.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { commandLine, temporalFlags } from './command-line.ts';
import type { TemporalOptions } from './options.ts';
import { connectIfReachable } from './session.ts';
import { plainTable } from './table.ts';
import { timeText } from './text.ts';

/** A schedule of nights. */
export interface NightSchedule {
  id: string;
  /** Name of the curriculum: its record and its runs are named after it. */
  name: string;
  paused: boolean;
  note: string;
  /** The night that runs now: its workflow id. */
  running: string | null;
  next: string | null;
  /** Nights that were started. */
  ran: number;
  /** Nights that did not start because the server was away for longer than the catch-up window. */
  missed: number;
  /** Nights that did not start because the one before still ran. */
  skipped: number;
}

/**
 * Creates a schedule with policies that fit nights: one at a time, six hours to catch up, and a pause after a
 * failure, so that a person looks at it.
 * @throws CliError if the id is taken or the server rejects the times
 */
export async function createNightSchedule(
  client: Client,
  {
    id,
    name,
    file,
    spec,
    options = {},
  }: { id: string; name: string; file: unknown; spec: ScheduleSpec; options?: TemporalOptions },
): Promise<void> {
  try {
    await client.schedule.create<typeof nightlyWorkflow>({
      scheduleId: id,
      spec,
      action: {
        type: 'startWorkflow',
        workflowType: 'nightly',
        workflowId: name,
        taskQueue: queues.workflows,
        args: [file],
      },
      policies: { overlap: 'SKIP', catchupWindow: '6h', pauseOnFailure: true },
    });
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning)
      throw new CliError(
        `--id: got ${JSON.stringify(id)}, but there is such a schedule already; delete it first ` +
          `(${commandLine(['schedule', 'delete', id], temporalFlags(options))}: record and runs stay), or give another`,
        exitCodes.badInput,
      );
    // The server parses cron expressions and time zones, so its message is the explanation.
    if (error instanceof ServiceError && isGrpcServiceError(error.cause))
      throw new CliError(`schedule: ${error.cause.details}`, exitCodes.badInput);
    throw error;
  }
}

/** The schedules that start nights, by id. */
export async function listNightSchedules(client: Client): Promise<NightSchedule[]> {
  const ids: string[] = [];
  for await (const { scheduleId, action } of client.schedule.list())
    if (action?.workflowType === 'nightly') ids.push(scheduleId);
  const describe = async (id: string): Promise<NightSchedule> =>
    toNightSchedule(await client.schedule.getHandle(id).describe());
  return Promise.all(ids.sort().map(describe));
}

function toNightSchedule({ scheduleId, action, state, info }: ScheduleDescription): NightSchedule {
  return {
    id: scheduleId,
    name: curriculumName(action.args?.[0]) ?? scheduleId,
    paused: state.paused,
    note: state.note ?? '',
    running: info.runningActions.at(-1)?.workflow.workflowId ?? null,
    next: state.paused ? null : (info.nextActionTimes[0]?.toISOString() ?? null),
    ran: info.numActionsTaken,
    missed: info.numActionsMissedCatchupWindow,
    skipped: info.numActionsSkippedOverlap,
  };
}

function curriculumName(file: unknown): string | undefined {
  const { name, experiment } = (file ?? {}) as { name?: string; experiment?: { name?: string } };
  return name ?? experiment?.name;
}

/** Runs work with a connection, and closes it. @throws CliError if no server can be reached */
export async function withClient<T>(
  options: TemporalOptions,
  context: CliContext,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectIfReachable(options, context);
  if (client === null)
    throw new CliError(
      'no Temporal server runs that could keep a schedule: ' +
        'bring the embedded stack up (npx genenv up), or name a server (--address)',
    );
  try {
    return await work(client);
  } finally {
    await client.connection.close();
  }
}

/** Runs work on one schedule. @throws CliError naming the schedules there are */
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
      const ids = (await listNightSchedules(client)).map((schedule) => schedule.id);
      const existing = ids.length === 0 ? 'there are none yet' : `there are: ${ids.join(', ')}`;
      throw new CliError(
        `schedule: got ${JSON.stringify(id)}, but there is no such schedule; ${existing}`,
        exitCodes.badInput,
      );
    }
  });
}

/** The schedules of nights, and how the last night of each ended; empty if there are none. */
export async function scheduleTable(client: Client, context: CliContext): Promise<string> {
  const schedules = await listNightSchedules(client);
  if (schedules.length === 0) return '';
  const table = plainTable(['schedule', 'state', 'next (UTC)', 'ran', 'missed', 'skipped', 'last night']);
  for (const schedule of schedules)
    table.push([
      schedule.id,
      stateText(schedule),
      timeText(schedule.next),
      schedule.ran,
      schedule.missed,
      schedule.skipped,
      await lastNightText(schedule, context),
    ]);
  const notes = schedules
    .filter(({ paused, note }) => paused && note !== '')
    .map(({ id, note }) => `${id} is paused: ${note}`);
  return [table.toString(), ...notes].join('\n');
}

function stateText({ paused, running }: NightSchedule): string {
  if (running === null) return paused ? 'paused' : 'waiting';
  return paused ? 'running, then paused' : 'running';
}

async function lastNightText({ name }: NightSchedule, { env }: CliContext): Promise<string> {
  const nights = await new NightlyFolder(join(homeFolder(env), 'nightly'), name).nights();
  const last = nights.at(-1);
  return last === undefined ? '–' : `${last.night} ${last.outcome}`;
}
