import { setTimeout as sleep } from 'node:timers/promises';
import { createLogUpdate } from 'log-update';
import { RunFolder } from '../../runs/run-folder.ts';
import { requireRun, runsFolder } from '../../runs/run-state.ts';
import type { StatusOptions } from '../commands/status.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { Interruption } from '../interruption.ts';
import { reachableTemporal } from '../run/reachable-temporal.ts';
import { scheduleTable } from '../schedule/schedule-table.ts';
import { runStatus } from './run-status.ts';
import type { RunStatus } from './run-status.ts';
import { runDetails, runTable } from './status-text.ts';

const WATCH_MS = 2_000;

/** `genenv status`. */
export async function status(
  id: string | undefined,
  options: StatusOptions,
  context: CliContext,
): Promise<ExitCode> {
  const home = homeFolder(context.env);
  if (id !== undefined) await requireRun(home, id);
  const client = await reachableTemporal(options, context);
  const text = async (): Promise<string> => {
    const folders =
      id === undefined ? await RunFolder.list(runsFolder(home)) : [new RunFolder(runsFolder(home), id)];
    const found = await Promise.all(folders.map((folder) => runStatus(folder, client)));
    const schedules =
      id !== undefined || options.json === true || client === null
        ? ''
        : await scheduleTable(client, context);
    return [show(found, id, options, home), ...(schedules === '' ? [] : ['', schedules])].join('\n');
  };
  try {
    if (options.watch !== true) context.print(await text());
    else await watch(text, context);
  } finally {
    await client?.connection.close();
  }
  return exitCodes.ok;
}

function show(runs: RunStatus[], id: string | undefined, { json }: StatusOptions, home: string): string {
  if (json === true) return JSON.stringify(id === undefined ? runs : runs[0], null, 2);
  if (id !== undefined) return runs.map(runDetails).join('\n');
  return runs.length === 0
    ? `No runs in ${home} yet. Start one: npx genenv run experiments/laptop.json`
    : runTable(runs);
}

/** Drawn in place on a terminal; without one, printed when something has changed. */
async function watch(text: () => Promise<string>, { terminal, print }: CliContext): Promise<void> {
  const interruption = new Interruption(() => undefined);
  const log = terminal === null ? null : createLogUpdate(terminal);
  let last = '';
  while (!interruption.stop.aborted) {
    const now = await text();
    if (log !== null) log(now);
    else if (now !== last) print(now);
    last = now;
    await sleep(WATCH_MS, undefined, { signal: interruption.stop }).catch(() => undefined);
  }
  log?.done();
  interruption.dispose();
}
