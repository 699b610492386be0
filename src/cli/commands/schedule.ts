import type { ScheduleSpec } from '@temporalio/client';
import type { Command } from 'commander';
import { CliError, exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addTemporalOptions } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';

interface CreateOptions extends TemporalOptions {
  cron?: string;
  every?: string;
  timeZone?: string;
  id?: string;
}
interface ListOptions extends TemporalOptions {
  json?: boolean;
}
interface PauseOptions extends TemporalOptions {
  note?: string;
}
interface BackfillOptions extends TemporalOptions {
  from: string;
  to: string;
}

const EXAMPLES = `
Examples:
  genenv schedule create experiments/nightly.json --cron "0 2 * * *"
  genenv schedule list
  genenv schedule pause laptop-nightly --note "machine is moved"
  genenv schedule backfill laptop-nightly --from 2026-11-20T00:00:00Z --to 2026-11-21T00:00:00Z`;

/** `genenv schedule …`: the nightly curriculum as a Temporal Schedule. */
export function addSchedule(parts: CommandParts): void {
  const schedule = parts.program
    .command('schedule')
    .description('a nightly curriculum: train each night, keep the new agent unless it is worse')
    .addHelpText('after', EXAMPLES);
  for (const add of [addCreate, addList, addPause, addResume, addTrigger, addBackfill, addDelete])
    add(schedule, parts);
}

type AddTo = (schedule: Command, parts: CommandParts) => void;
const addScheduleCommand = (schedule: Command, name: string, description: string): Command =>
  addTemporalOptions(schedule.command(name).description(description).argument('<id>', 'id of the schedule'));

const addCreate: AddTo = (schedule, { context, exit }) => {
  const command = schedule
    .command('create')
    .description('run the nights of a nightly file by the clock, from now on')
    .argument('<file>', 'nightly file, such as experiments/nightly.json')
    .option('--cron <expression>', 'when, such as "0 2 * * *" (every night at two)')
    .option('--every <interval>', 'how often instead, such as 24h, 90m or 30s')
    .option('--time-zone <name>', 'time zone of --cron, such as Europe/Berlin (default: UTC)')
    .option('--id <id>', 'id of the schedule (default: the name in the file)');
  addTemporalOptions(command).action(async (file: string, options: CreateOptions) =>
    exit(await createSchedule(file, options, context)),
  );
};

const addList: AddTo = (schedule, { context, exit }) => {
  addTemporalOptions(
    schedule
      .command('list')
      .description('all schedules of nights: next run, nights that ran, were missed or skipped')
      .option('--json', 'print JSON'),
  ).action(async (options: ListOptions) => exit(await listSchedules(options, context)));
};

const addPause: AddTo = (schedule, { context, exit }) => {
  addScheduleCommand(schedule, 'pause', 'start no more nights; one that runs continues')
    .option('--note <text>', 'why; it is shown with the schedule')
    .action(async (id: string, options: PauseOptions) => exit(await pauseSchedule(id, options, context)));
};

const addResume: AddTo = (schedule, { context, exit }) => {
  addScheduleCommand(schedule, 'resume', 'start nights again, after a pause or a failed night').action(
    async (id: string, options: TemporalOptions) => exit(await resumeSchedule(id, options, context)),
  );
};

const addTrigger: AddTo = (schedule, { context, exit }) => {
  addScheduleCommand(schedule, 'trigger', 'start a night now, unless one runs').action(
    async (id: string, options: TemporalOptions) => exit(await triggerNight(id, options, context)),
  );
};

const addBackfill: AddTo = (schedule, { context, exit }) => {
  addScheduleCommand(schedule, 'backfill', 'run the nights of a time in the past, one after the other')
    .requiredOption('--from <time>', 'start of that time, such as 2026-11-20T00:00:00Z')
    .requiredOption('--to <time>', 'its end')
    .action(async (id: string, options: BackfillOptions) => exit(await backfillNights(id, options, context)));
};

const addDelete: AddTo = (schedule, { context, exit }) => {
  addScheduleCommand(schedule, 'delete', 'remove the schedule; its record and its runs stay').action(
    async (id: string, options: TemporalOptions) => exit(await deleteSchedule(id, options, context)),
  );
};

/** Checks everything before it creates anything. */
async function createSchedule(file: string, options: CreateOptions, context: CliContext): Promise<ExitCode> {
  const { parseNightly } = await import('../../config/nightly.ts');
  const { readInputFile } = await import('../lib/read-file.ts');
  const { commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { createNightSchedule, withClient } = await import('../lib/schedules.ts');
  const { externalTemporal } = await import('../lib/session.ts');
  const raw = await readInputFile('nightly file', file, 'experiments/nightly.json');
  const { name } = parseNightly(raw);
  const spec = scheduleSpec(options);
  const id = options.id ?? name;
  return withClient(options, context, async (client) => {
    await createNightSchedule(client, { id, name, file: raw, spec, options });
    const { info } = await client.schedule.getHandle(id).describe();
    const worker = externalTemporal(options, context.env) === null ? 'npx genenv up' : 'npm run worker';
    const nextNight = info.nextActionTimes[0]?.toISOString() ?? 'none';
    context.print(
      `Created the schedule ${id}; next night: ${nextNight}. A worker must serve it then (${worker}).`,
    );
    const flags = temporalFlags(options);
    context.print(
      `To look after it: ${commandLine(['schedule', 'list'], flags)}; ` +
        `to start a night now: ${commandLine(['schedule', 'trigger', id], flags)}`,
    );
    return exitCodes.ok;
  });
}

const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 };

function scheduleSpec({ cron, every, timeZone }: CreateOptions): ScheduleSpec {
  if ((cron === undefined) === (every === undefined))
    throw new CliError(
      `--cron, --every: got ${cron === undefined ? 'neither' : 'both'}; expected one of them, such as ` +
        '--cron "0 2 * * *" or --every 24h',
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
  const unit = interval[2] as keyof typeof UNIT_SECONDS;
  return { intervals: [{ every: 1000 * Number(interval[1]) * UNIT_SECONDS[unit] }] };
}

async function listSchedules(options: ListOptions, context: CliContext): Promise<ExitCode> {
  const { commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { listNightSchedules, scheduleTable, withClient } = await import('../lib/schedules.ts');
  const create = ['schedule', 'create', 'experiments/nightly.json'];
  return withClient(options, context, async (client) => {
    if (options.json === true) context.print(JSON.stringify(await listNightSchedules(client), null, 2));
    else
      context.print(
        (await scheduleTable(client, context)) ||
          'No schedules of nights yet. Make one: ' +
            commandLine(create, { '--cron': '0 2 * * *', ...temporalFlags(options) }),
      );
    return exitCodes.ok;
  });
}

async function pauseSchedule(id: string, options: PauseOptions, context: CliContext): Promise<ExitCode> {
  const { commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { withSchedule } = await import('../lib/schedules.ts');
  await withSchedule(id, options, context, (schedule) => schedule.pause(options.note));
  const resume = commandLine(['schedule', 'resume', id], temporalFlags(options));
  context.print(`${id} is paused; a night that runs continues. To resume: ${resume}`);
  return exitCodes.ok;
}

async function resumeSchedule(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  const { withSchedule } = await import('../lib/schedules.ts');
  const nextNight = await withSchedule(id, options, context, async (schedule) => {
    await schedule.unpause();
    return (await schedule.describe()).info.nextActionTimes[0];
  });
  context.print(`${id} continues; next night: ${nextNight?.toISOString() ?? 'none'}.`);
  return exitCodes.ok;
}

/** With the client's default policy a second night would start next to a running one. */
async function triggerNight(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  const { withSchedule } = await import('../lib/schedules.ts');
  await withSchedule(id, options, context, (schedule) => schedule.trigger('SKIP'));
  context.print(`${id} starts a night now, unless one runs.`);
  return exitCodes.ok;
}

/** Each night continues the one before, so they run one after the other. */
async function backfillNights(id: string, options: BackfillOptions, context: CliContext): Promise<ExitCode> {
  const { withSchedule } = await import('../lib/schedules.ts');
  const start = parseTime('--from', options.from);
  const end = parseTime('--to', options.to);
  if (end <= start)
    throw new CliError(
      `--to: got ${JSON.stringify(options.to)}; expected a time after --from (${options.from})`,
      exitCodes.badInput,
    );
  await withSchedule(id, options, context, (schedule) =>
    schedule.backfill({ start, end, overlap: 'BUFFER_ALL' }),
  );
  context.print(
    `${id} runs the nights from ${start.toISOString()} to ${end.toISOString()}, one after the other.`,
  );
  return exitCodes.ok;
}

function parseTime(flag: string, text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime()))
    throw new CliError(
      `${flag}: got ${JSON.stringify(text)}; expected a time such as 2026-11-20T00:00:00Z`,
      exitCodes.badInput,
    );
  return date;
}

async function deleteSchedule(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  const { withSchedule } = await import('../lib/schedules.ts');
  await withSchedule(id, options, context, (schedule) => schedule.delete());
  context.print(`${id} is deleted; its record and its runs stay.`);
  return exitCodes.ok;
}
