import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { NightlyFolder } from '../../runs/result-folders.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { plainTable } from '../show/table.ts';
import { nightSchedules } from './night-schedules.ts';
import type { NightSchedule } from './night-schedules.ts';

const when = (iso: string | null): string => (iso === null ? '–' : iso.slice(0, 16).replace('T', ' '));

/** The schedules of nights, and how the last night of each ended; empty where there are none. */
export async function scheduleTable(client: Client, context: CliContext): Promise<string> {
  const schedules = await nightSchedules(client);
  if (schedules.length === 0) return '';
  const table = plainTable(['schedule', 'state', 'next (UTC)', 'ran', 'missed', 'skipped', 'last night']);
  for (const schedule of schedules)
    table.push([
      schedule.id,
      stateOf(schedule),
      when(schedule.next),
      schedule.ran,
      schedule.missed,
      schedule.skipped,
      await lastNight(schedule, context),
    ]);
  const notes = schedules
    .filter(({ paused, note }) => paused && note !== '')
    .map(({ id, note }) => `${id} is paused: ${note}`);
  return [table.toString(), ...notes].join('\n');
}

const stateOf = ({ paused, running }: NightSchedule): string =>
  running === null ? (paused ? 'paused' : 'waiting') : paused ? 'running, then paused' : 'running';

async function lastNight({ name }: NightSchedule, { env }: CliContext): Promise<string> {
  const last = (await new NightlyFolder(join(homeFolder(env), 'nightly'), name).nights()).at(-1);
  return last === undefined ? '–' : `${last.night} ${last.outcome}`;
}
