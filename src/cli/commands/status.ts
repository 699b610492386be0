import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addTemporalOptions } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';

interface StatusOptions extends TemporalOptions {
  epochs?: boolean;
  json?: boolean;
  watch?: boolean;
}

export function addStatus({ program, context, exit }: CommandParts): void {
  const command = program
    .command('status')
    .description('all runs of this home, or one in detail')
    .argument('[run]', 'id of a run')
    .option('--epochs', 'a table of the epochs of a run: success, difficulty, and the seconds of each phase')
    .option('--json', 'print JSON')
    .option('--watch', 'again and again, until Ctrl-C');
  addTemporalOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  genenv status\n  genenv status laptop --watch\n  genenv status laptop --epochs\n  genenv status --json | jq .',
    )
    .action(async (id: string | undefined, options: StatusOptions) =>
      exit(await status(id, options, context)),
    );
}

async function status(
  id: string | undefined,
  options: StatusOptions,
  context: CliContext,
): Promise<ExitCode> {
  const { requireRun } = await import('../../runs/run-overview.ts');
  const { connectIfReachable } = await import('../lib/session.ts');
  const home = homeFolder(context.env);
  if (id !== undefined) await requireRun(home, id);
  if (options.epochs === true) return printEpochs(id, home, context);
  const client = await connectIfReachable(options, context);
  const readText =
    id === undefined
      ? () => allRunsText(client, options, context)
      : () => runText(id, client, options, context);
  try {
    if (options.watch !== true) context.print(await readText());
    else await watch(readText, context);
  } finally {
    await client?.connection.close();
  }
  return exitCodes.ok;
}

async function printEpochs(id: string | undefined, home: string, { print }: CliContext): Promise<ExitCode> {
  if (id === undefined)
    throw new CliError('--epochs needs the id of a run: genenv status RUN --epochs', exitCodes.badInput);
  const { loadRun } = await import('../../report/load-run.ts');
  const { epochTable } = await import('../lib/epoch-table.ts');
  const { rows } = await loadRun({ home, runId: id });
  print(epochTable(rows));
  return exitCodes.ok;
}

async function runText(
  id: string,
  client: Client | null,
  { json }: StatusOptions,
  { env }: CliContext,
): Promise<string> {
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { runsFolder } = await import('../../runs/run-overview.ts');
  const { readRunStatus, runDetails } = await import('../lib/run-status.ts');
  const run = await readRunStatus(new RunFolder(runsFolder(homeFolder(env)), id), client);
  return json === true ? JSON.stringify(run, null, 2) : runDetails(run);
}

async function allRunsText(
  client: Client | null,
  { json }: StatusOptions,
  context: CliContext,
): Promise<string> {
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { runsFolder } = await import('../../runs/run-overview.ts');
  const { readRunStatus, runTable } = await import('../lib/run-status.ts');
  const home = homeFolder(context.env);
  const folders = await RunFolder.list(runsFolder(home));
  const runs = await Promise.all(folders.map((folder) => readRunStatus(folder, client)));
  if (json === true) return JSON.stringify(runs, null, 2);
  const text =
    runs.length === 0
      ? `No runs in ${home} yet. Start one: npx genenv run experiments/laptop.json`
      : runTable(runs);
  if (client === null) return text;
  const { scheduleTable } = await import('../lib/schedules.ts');
  const schedules = await scheduleTable(client, context);
  return schedules === '' ? text : `${text}\n\n${schedules}`;
}

const WATCH_MS = 2_000;

/** Drawn in place on a terminal; without one, printed when something has changed. */
async function watch(readText: () => Promise<string>, { terminal, print }: CliContext): Promise<void> {
  const { createLiveText } = await import('../lib/live-text.ts');
  const { Interruption } = await import('../lib/interruption.ts');
  const interruption = new Interruption(() => undefined);
  const live = terminal === null ? null : createLiveText(terminal);
  let printed = '';
  while (!interruption.stop.aborted) {
    const text = await readText();
    if (live !== null) live.show(text);
    else if (text !== printed) print(text);
    printed = text;
    await sleep(WATCH_MS, undefined, { signal: interruption.stop }).catch(() => undefined);
  }
  live?.done();
  interruption.dispose();
}
