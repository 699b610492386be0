import type { Client, ScheduleDescription } from '@temporalio/client';

/** What is to be known of a schedule of nights. */
export interface NightSchedule {
  id: string;
  /** Name of the curriculum: its record and its runs bear it. */
  name: string;
  paused: boolean;
  note: string;
  /** The night that runs now: its workflow id. */
  running: string | null;
  next: string | null;
  /** Nights that were started. */
  ran: number;
  /** Nights that did not start, since the server was away for longer than the catch-up window. */
  missed: number;
  /** Nights that did not start, since the one before still ran. */
  skipped: number;
}

/** The schedules that start nights, by id. */
export async function nightSchedules(client: Client): Promise<NightSchedule[]> {
  const ids: string[] = [];
  for await (const { scheduleId, action } of client.schedule.list())
    if (action?.workflowType === 'nightly') ids.push(scheduleId);
  return Promise.all(ids.sort().map(async (id) => factsOf(await client.schedule.getHandle(id).describe())));
}

export function factsOf({ scheduleId, action, state, info }: ScheduleDescription): NightSchedule {
  return {
    id: scheduleId,
    name: nameIn(action.args?.[0]) ?? scheduleId,
    paused: state.paused,
    note: state.note ?? '',
    running: info.runningActions.at(-1)?.workflow.workflowId ?? null,
    next: state.paused ? null : (info.nextActionTimes[0]?.toISOString() ?? null),
    ran: info.numActionsTaken,
    missed: info.numActionsMissedCatchupWindow,
    skipped: info.numActionsSkippedOverlap,
  };
}

function nameIn(file: unknown): string | undefined {
  const { name, experiment } = (file ?? {}) as { name?: string; experiment?: { name?: string } };
  return name ?? experiment?.name;
}
