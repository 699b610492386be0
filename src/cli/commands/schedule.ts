import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import type { CreateOptions } from '../schedule/create.ts';
import type { BackfillOptions, ListOptions, PauseOptions } from '../schedule/verbs.ts';
import { withTemporal } from '../temporal-options.ts';
import type { TemporalOptions } from '../temporal-options.ts';

const examples = `
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
    .addHelpText('after', examples);
  for (const add of [addCreate, addList, addPause, addResume, addTrigger, addBackfill, addDelete])
    add(schedule, parts);
}

type AddTo = (schedule: Command, parts: CommandParts) => void;
const onSchedule = (schedule: Command, name: string, description: string): Command =>
  withTemporal(schedule.command(name).description(description).argument('<id>', 'id of the schedule'));

const addCreate: AddTo = (schedule, { context, exit }) => {
  const command = schedule
    .command('create')
    .description('run the nights of a nightly file by the clock, from now on')
    .argument('<file>', 'nightly file, such as experiments/nightly.json')
    .option('--cron <expression>', 'when, such as "0 2 * * *" (every night at two)')
    .option('--every <interval>', 'how often instead, such as 24h, 90m or 30s')
    .option('--time-zone <name>', 'time zone of --cron, such as Europe/Berlin (default: UTC)')
    .option('--id <id>', 'id of the schedule (default: the name in the file)');
  withTemporal(command).action(async (file: string, options: CreateOptions) => {
    const { createSchedule } = await import('../schedule/create.ts');
    exit(await createSchedule(file, options, context));
  });
};

const addList: AddTo = (schedule, { context, exit }) => {
  withTemporal(
    schedule
      .command('list')
      .description('all schedules of nights: next run, nights that ran, were missed or skipped')
      .option('--json', 'print JSON'),
  ).action(async (options: ListOptions) => {
    const { list } = await import('../schedule/verbs.ts');
    exit(await list(options, context));
  });
};

const addPause: AddTo = (schedule, { context, exit }) => {
  onSchedule(schedule, 'pause', 'start no more nights; one that runs goes on')
    .option('--note <text>', 'why; it is shown with the schedule')
    .action(async (id: string, options: PauseOptions) => {
      const { pause } = await import('../schedule/verbs.ts');
      exit(await pause(id, options, context));
    });
};

const addResume: AddTo = (schedule, { context, exit }) => {
  onSchedule(schedule, 'resume', 'start nights again, after a pause or a failed night').action(
    async (id: string, options: TemporalOptions) => {
      const { resume } = await import('../schedule/verbs.ts');
      exit(await resume(id, options, context));
    },
  );
};

const addTrigger: AddTo = (schedule, { context, exit }) => {
  onSchedule(schedule, 'trigger', 'start a night now, unless one runs').action(
    async (id: string, options: TemporalOptions) => {
      const { trigger } = await import('../schedule/verbs.ts');
      exit(await trigger(id, options, context));
    },
  );
};

const addBackfill: AddTo = (schedule, { context, exit }) => {
  onSchedule(schedule, 'backfill', 'run the nights of a time in the past, one after the other')
    .requiredOption('--from <time>', 'start of that time, such as 2026-11-20T00:00:00Z')
    .requiredOption('--to <time>', 'its end')
    .action(async (id: string, options: BackfillOptions) => {
      const { backfill } = await import('../schedule/verbs.ts');
      exit(await backfill(id, options, context));
    });
};

const addDelete: AddTo = (schedule, { context, exit }) => {
  onSchedule(schedule, 'delete', 'remove the schedule; its record and its runs stay').action(
    async (id: string, options: TemporalOptions) => {
      const { remove } = await import('../schedule/verbs.ts');
      exit(await remove(id, options, context));
    },
  );
};
