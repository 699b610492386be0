import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addTemporalOptions } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';
import type { FindServer } from '../lib/temporal-source.ts';

interface StatusOptions extends TemporalOptions {
  epochs?: boolean;
  json?: boolean;
  watch?: boolean;
}

export function addStatus({ program, context, exit }: CommandParts): void {
  const command = program
    .command('status')
    .description('all runs, evaluations, comparisons and nights of this home, or one in detail')
    .argument('[id]', 'id of a run, an evaluation or a comparison')
    .option(
      '--epochs',
      'a table of the epochs of a run: success, difficulty, and the seconds of each phase; with --json all metrics',
    )
    .option('--json', 'print JSON')
    .option('--watch', 'again and again, until Ctrl-C');
  addTemporalOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  genenv status\n  genenv status laptop --watch\n  genenv status laptop --epochs\n  genenv status evaluate-gold\n  genenv status --json | jq .',
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
  const { connectIfReachable, serverFinder } = await import('../lib/session.ts');
  const home = homeFolder(context.env);
  if (options.epochs === true && options.watch === true)
    throw new CliError(
      '--watch: shows no table of epochs; leave out one of --watch and --epochs',
      exitCodes.badInput,
    );
  const kind = id === undefined ? 'all' : await kindOf(home, id, options);
  if (options.epochs === true) return printEpochs(id, home, options, context);
  const readText = (client: Client | null): Promise<string> => {
    if (id === undefined) return overviewText(client, options, context);
    return kind === 'run' ? runText(id, client, options, context) : workText(id, client, options, context);
  };
  if (options.watch === true) {
    await watch(readText, serverFinder(options, context), context);
    return exitCodes.ok;
  }
  const client = await connectIfReachable(options, context);
  try {
    context.print(await readText(client));
  } finally {
    await client?.connection.close();
  }
  return exitCodes.ok;
}

/** Whether an id is that of a run, or else of an evaluation or a comparison. @throws InvalidConfig for neither */
async function kindOf(home: string, id: string, { epochs }: StatusOptions): Promise<'run' | 'work'> {
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { requireRun, runsFolder } = await import('../../runs/run-overview.ts');
  const { isWork } = await import('../lib/all-work.ts');
  const runs = await RunFolder.list(runsFolder(home));
  const isRun = epochs === true || runs.some((run) => run.id === id);
  if (!isRun && (await isWork(home, id))) return 'work';
  await requireRun(home, id);
  return 'run';
}

async function printEpochs(
  id: string | undefined,
  home: string,
  { json }: StatusOptions,
  { print }: CliContext,
): Promise<ExitCode> {
  if (id === undefined)
    throw new CliError('--epochs needs the id of a run: genenv status RUN --epochs', exitCodes.badInput);
  const { loadRun } = await import('../../report/load-run.ts');
  const { epochLines, epochTable } = await import('../lib/epoch-table.ts');
  const { rows } = await loadRun({ home, runId: id });
  print(json === true ? JSON.stringify(epochLines(rows), null, 2) : epochTable(rows));
  return exitCodes.ok;
}

async function runText(
  id: string,
  client: Client | null,
  options: StatusOptions,
  { env }: CliContext,
): Promise<string> {
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { runsFolder } = await import('../../runs/run-overview.ts');
  const { readRunStatus, runDetails } = await import('../lib/run-status.ts');
  const run = await readRunStatus(new RunFolder(runsFolder(homeFolder(env)), id), client, options);
  return options.json === true ? JSON.stringify(run, null, 2) : runDetails(run);
}

/** An evaluation or a comparison in detail. */
async function workText(
  id: string,
  client: Client | null,
  options: StatusOptions,
  context: CliContext,
): Promise<string> {
  const { readWork } = await import('../lib/all-work.ts');
  const { workDetails } = await import('../lib/work-status.ts');
  const { evaluationFolder, scoreTable } = await import('../lib/scores.ts');
  const works = await readWork(homeFolder(context.env), id, client, options);
  if (options.json === true) return JSON.stringify(works.length === 1 ? works[0] : works, null, 2);
  const texts = await Promise.all(
    works.map(async (work) => {
      const isScored = work.kind === 'evaluation' && work.state === 'finished';
      const results = isScored ? await evaluationFolder(id, context).readResults() : undefined;
      return [workDetails(work), ...(results === undefined ? [] : ['', scoreTable(results)])].join('\n');
    }),
  );
  return texts.join('\n\n');
}

/** All runs, schedules of nights, and what else there is. */
async function overviewText(
  client: Client | null,
  options: StatusOptions,
  context: CliContext,
): Promise<string> {
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { runsFolder } = await import('../../runs/run-overview.ts');
  const { readRunStatus, runTable } = await import('../lib/run-status.ts');
  const { readAllWork } = await import('../lib/all-work.ts');
  const { workTables } = await import('../lib/work-status.ts');
  const home = homeFolder(context.env);
  const folders = await RunFolder.list(runsFolder(home));
  const runs = await Promise.all(folders.map((folder) => readRunStatus(folder, client, options)));
  const works = await readAllWork(home, client, options);
  if (options.json === true)
    return JSON.stringify([...runs.map((run) => ({ kind: 'run', ...run })), ...works], null, 2);
  const { scheduleTable } = await import('../lib/schedules.ts');
  const parts = [
    runs.length === 0
      ? `No runs in ${home} yet. Start one: npx genenv run experiments/laptop.json`
      : runTable(runs),
    client === null ? '' : await scheduleTable(client, context),
    workTables(works, options),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

const WATCH_MS = 2_000;

type ReadText = (client: Client | null) => Promise<string>;

/**
 * Drawn in place on a terminal; without one, printed when something has changed. The server is looked for each
 * time: a stack may start later, or end. @throws CliError if there is one at the start, and it does not answer
 */
async function watch(
  readText: ReadText,
  findServer: FindServer,
  { terminal, print, warn }: CliContext,
): Promise<void> {
  const { createLiveText } = await import('../lib/live-text.ts');
  const { Interruption } = await import('../lib/interruption.ts');
  await findServer();
  const interruption = new Interruption(() => undefined);
  const live = terminal === null ? null : createLiveText(terminal);
  let printed: Shown = { text: '', problem: '' };
  while (!interruption.stop.aborted) {
    const shown = await readShown(readText, findServer);
    const { text, problem } = shown;
    if (live !== null) live.show(problem === '' ? text : `${text}\n\n${problem}`);
    else {
      if (text !== printed.text) print(text);
      if (problem !== '' && problem !== printed.problem) warn(problem);
    }
    printed = shown;
    await sleep(WATCH_MS, undefined, { signal: interruption.stop }).catch(() => undefined);
  }
  live?.done();
  interruption.dispose();
}

interface Shown {
  text: string;
  /** Why the server that there is does not say more; empty if it has answered. */
  problem: string;
}

/** What the server and files say; if the server fails, what files say, and why. */
async function readShown(readText: ReadText, findServer: FindServer): Promise<Shown> {
  const { isServerFailure } = await import('../../temporal/server-failure.ts');
  const { serverFailureText } = await import('../lib/server-failure-text.ts');
  try {
    const server = await findServer();
    return { text: await readText(server?.client ?? null), problem: '' };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isFailure = isServerFailure(error);
    if (!isFailure && !(error instanceof CliError)) throw error;
    return { text: await readText(null), problem: isFailure ? serverFailureText(error) : error.message };
  }
}
