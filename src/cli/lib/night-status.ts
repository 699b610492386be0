import { join } from 'node:path';
import { nightRunId } from '../../activities/nightly/recorded-night.ts';
import { listResults } from '../../runs/list-results.ts';
import { NightlyFolder } from '../../runs/result-folders.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { readRunOverview, runsFolder } from '../../runs/run-overview.ts';
import type { NightRecord } from '../../types/nightly-types.ts';
import { commandLine, temporalFlags } from './command-line.ts';
import type { TemporalOptions } from './options.ts';
import { describeWorkflow } from './run-activity.ts';
import { queryRunProgress } from './query-progress.ts';
import { listNightSchedules } from './schedules.ts';
import { blankStatus, watchCommand } from './work-status.ts';
import type { RunningWorkflow, StatusServer, WorkStatus } from './work-status.ts';

const nightlyRoot = (home: string): string => join(home, 'nightly');

/** Nights of all curricula: those of the records, the last line of each night, and the one that is not closed. */
export async function nightStatuses(home: string, server: StatusServer): Promise<WorkStatus[]> {
  const { client } = server;
  const schedules = client === null ? [] : await listNightSchedules(client);
  const names = new Set([...(await listResults(nightlyRoot(home))), ...schedules.map(({ name }) => name)]);
  const all = await Promise.all(
    [...names].sort().map((name) => {
      const schedule = schedules.find((candidate) => candidate.name === name)?.id ?? name;
      return curriculumNights(home, { name, schedule }, server);
    }),
  );
  return all.flat();
}

async function curriculumNights(
  home: string,
  { name, schedule }: { name: string; schedule: string },
  server: StatusServer,
): Promise<WorkStatus[]> {
  const folder = new NightlyFolder(nightlyRoot(home), name);
  try {
    const records = await folder.nights();
    const { night } = await folder.next();
    const open = await openNight(home, { name, night, schedule }, server);
    // A failed night is continued: what it is now says more than its last line.
    const recorded = [...new Map(records.map((record) => [record.night, record])).values()].filter(
      (record) => open === undefined || record.night !== night || open.state !== 'running',
    );
    const trigger = triggerCommand(schedule, server.options);
    const closed = recorded.map((record) => recordedNight(name, trigger, folder, record));
    return open === undefined || closed.some(({ id }) => id === open.id) ? closed : [...closed, open];
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return [{ ...blankStatus('night', name, folder.path), problem }];
  }
}

const triggerCommand = (schedule: string, options: TemporalOptions): string =>
  commandLine(['schedule', 'trigger', schedule], temporalFlags(options));

function recordedNight(
  name: string,
  trigger: string,
  folder: NightlyFolder,
  { night, outcome, reason, test, time }: NightRecord,
): WorkStatus {
  const id = nightRunId(name, night);
  return {
    ...blankStatus('night', id, folder.path),
    state: outcome,
    progress:
      test === null ? reason : `${test.better} better, ${test.worse} worse, p = ${test.p.toPrecision(2)}`,
    time,
    command: outcome === 'failed' ? trigger : `npx genenv report ${id}`,
  };
}

/** What a schedule adds to the id of its workflow: the time of the night. */
const timeSuffix = /^-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Whether a workflow is a night of this curriculum, and not of one whose name begins like it. */
const isNightOf = (name: string, { id, type }: RunningWorkflow): boolean =>
  type === 'nightly' && (id === name || (id.startsWith(name) && timeSuffix.test(id.slice(name.length))));

/** The night that comes next, if it has begun: its experiment is there. */
async function openNight(
  home: string,
  { name, night, schedule }: { name: string; night: number; schedule: string },
  { client, running, options }: StatusServer,
): Promise<WorkStatus | undefined> {
  const id = nightRunId(name, night);
  const overview = await readRunOverview(new RunFolder(runsFolder(home), id));
  const workflow = running.find((candidate) => isNightOf(name, candidate));
  const base = blankStatus('night', id, join(runsFolder(home), id));
  if (workflow !== undefined && client !== null) {
    const progress = await queryRunProgress(client, id);
    const { isRunning } = await describeWorkflow(client, id);
    return {
      ...base,
      state: 'running',
      progress:
        isRunning && progress ? `epoch ${progress.epoch} of ${progress.epochs}` : 'compares both agents',
      time: workflow.started,
      command: watchCommand(id, options),
    };
  }
  if (overview === null) return undefined;
  return {
    ...base,
    state: 'interrupted',
    progress: `epoch ${overview.epoch ?? 0} of ${overview.experiment.epochs}`,
    command: triggerCommand(schedule, options),
  };
}
