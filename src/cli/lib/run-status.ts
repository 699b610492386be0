import type { Client } from '@temporalio/client';
import { armName } from '../../config/arms.ts';
import { mean } from '../../numerics/arithmetic.ts';
import type { Retune, RunFolder } from '../../runs/run-folder.ts';
import { lineage, lineageText, readRunOverview, settingsText } from '../../runs/run-overview.ts';
import type { Ancestor } from '../../runs/run-overview.ts';
import { requestKey, RequestReader } from '../../temporal/requests.ts';
import type { RunRequest } from '../../temporal/requests.ts';
import { isServerFailure } from '../../temporal/server-failure.ts';
import type { Progress } from '../../types/activity-types.ts';
import { outageText } from '../../workflows/outage-text.ts';
import { resumeCommand } from './command-line.ts';
import type { TemporalOptions } from './options.ts';
import { progressScreen } from './progress-display.ts';
import { currentState, QUERY_MS, resumableStates } from './run-activity.ts';
import type { CurrentState, RunActivity } from './run-activity.ts';
import { serverFailureText } from './server-failure-text.ts';
import { plainTable } from './table.ts';
import { currentJobs, jobsText } from './training-jobs.ts';
import type { JobStatus } from './training-jobs.ts';
import { rateText, timeText } from './text.ts';

const RECENT_EPOCHS = 5;

/** What `genenv status` knows of a run. */
export interface RunStatus {
  id: string;
  state: RunActivity;
  arm: string;
  epoch: number;
  epochs: number;
  successRate: number | null;
  /** Mean of the last epochs. */
  recentSuccessRate: number | null;
  heldOut: number | null;
  difficulty: number | null;
  /** When the last epoch was committed. */
  updated: string | null;
  /** Only while it runs and its worker answers. */
  progress: Progress | null;
  problem: string | null;
  /** What it was forked from, its parent first. */
  forkedFrom: Ancestor[];
  retunes: Retune[];
  /** The last requests, the newest last. */
  requests: Pick<RunRequest, 'request' | 'identity' | 'time'>[];
  /** Training jobs that it waits for. */
  jobs: JobStatus[];
  /** Command that resumes it; null while it runs, and when it is finished. */
  resumeCommand: string | null;
  folder: string;
}

/**
 * The status of a run, by its files, and by Temporal if a server is reached.
 * @param options that name the server, for the command that resumes it
 */
export async function readRunStatus(
  folder: RunFolder,
  client: Client | null,
  options: TemporalOptions,
): Promise<RunStatus> {
  const unreadable = unreadableRun(folder);
  try {
    const run = await readRunOverview(folder);
    if (run === null) return { ...unreadable, problem: 'no experiment.json' };
    const lines = await folder.metrics();
    const values = (name: string): number[] =>
      lines.map(({ metrics }) => metrics?.[name]).filter((value) => typeof value === 'number');
    const rates = values('env/success_rate');
    const current: StateOrProblem = run.finished
      ? { state: 'finished', progress: null }
      : await stateOrProblem(folder, client);
    const reached = current.problem === undefined ? client : null;
    return {
      ...unreadable,
      ...current,
      forkedFrom: await lineage(folder),
      retunes: await folder.readRetunes(),
      requests: await lastRequests(folder, reached),
      jobs:
        reached !== null && current.state === 'running'
          ? await currentJobs(reached, folder.id, current.progress?.epoch ?? (run.epoch ?? 0) + 1)
          : [],
      resumeCommand: resumableStates.has(current.state) ? resumeCommand(folder.id, options) : null,
      arm: armName(run.experiment.arm),
      epoch: run.epoch ?? 0,
      epochs: run.experiment.epochs,
      successRate: rates.at(-1) ?? null,
      recentSuccessRate: mean(rates.slice(-RECENT_EPOCHS)),
      heldOut: values('eval/heldout').at(-1) ?? null,
      difficulty: values('env/difficulty').at(-1) ?? null,
      updated: lines.at(-1)?.at ?? null,
    };
  } catch (error) {
    return { ...unreadable, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** `problem`: why Temporal does not say the state. */
type StateOrProblem = CurrentState & { problem?: string };

/** The state of a run; if its server does not say it, what its files say. */
async function stateOrProblem(folder: RunFolder, client: Client | null): Promise<StateOrProblem> {
  try {
    return await currentState(folder, client);
  } catch (error) {
    if (!(error instanceof Error) || !isServerFailure(error)) throw error;
    const { state } = await currentState(folder, null);
    // A run that no file says to have ended may run: a command to resume it could start it a second time.
    const shown = state === 'interrupted' ? 'unreadable' : state;
    return { state: shown, progress: null, problem: serverFailureText(error) };
  }
}

const RECENT_REQUESTS = 5;

/** Those that the run's files have, and those since, which Temporal's history has. */
async function lastRequests(folder: RunFolder, client: Client | null): Promise<RunStatus['requests']> {
  const recorded = (await folder.events()).filter(
    ({ type }) => type === 'requested',
  ) as unknown as RunRequest[];
  const keys = new Set(recorded.map(requestKey));
  const pending =
    client === null
      ? []
      : await client
          .withDeadline(Date.now() + QUERY_MS, () =>
            new RequestReader(client.workflowService, client.options.namespace).readNew({
              workflowId: folder.id,
            }),
          )
          .catch(() => []);
  return [...recorded, ...pending.filter((request) => !keys.has(requestKey(request)))]
    .slice(-RECENT_REQUESTS)
    .map(({ request, identity, time }) => ({ request, identity, time }));
}

const unreadableRun = (folder: RunFolder): RunStatus => ({
  id: folder.id,
  state: 'unreadable',
  arm: '',
  epoch: 0,
  epochs: 0,
  successRate: null,
  recentSuccessRate: null,
  heldOut: null,
  difficulty: null,
  updated: null,
  progress: null,
  problem: null,
  forkedFrom: [],
  retunes: [],
  requests: [],
  jobs: [],
  resumeCommand: null,
  folder: folder.path,
});

export function runTable(runs: readonly RunStatus[]): string {
  const table = plainTable([
    'run',
    'state',
    'epoch',
    'success',
    'last 5',
    'held-out',
    'difficulty',
    'last epoch (UTC)',
  ]);
  for (const run of runs) {
    table.push([
      run.id,
      run.progress?.waiting ? `${run.state}, waiting for ${run.progress.waiting.server}` : run.state,
      `${run.epoch}/${run.epochs}`,
      rateText(run.successRate),
      rateText(run.recentSuccessRate),
      rateText(run.heldOut),
      rateText(run.difficulty, 1),
      timeText(run.updated),
    ]);
  }
  return table.toString();
}

const NAME_WIDTH = 14;

const retunesText = (retunes: readonly Retune[]): string =>
  retunes
    .map(({ fromEpoch, set }) => `from epoch ${fromEpoch} on: ${settingsText(set)}`)
    .join(`\n${' '.repeat(NAME_WIDTH)}`);

const requestsText = (requests: RunStatus['requests']): string =>
  requests
    .map(({ request, identity, time }) => `${timeText(time)} UTC: ${request}, ${identity}`)
    .join(`\n${' '.repeat(NAME_WIDTH)}`);

function stateText({ state, resumeCommand: command, progress }: RunStatus): string {
  if (command !== null) return `${state}; to resume: ${command}`;
  return progress?.waiting ? `${state}, ${outageText(progress.waiting)}` : state;
}

export function runDetails(run: RunStatus): string {
  const details: [string, string][] = [
    ['run', run.id],
    ['state', stateText(run)],
    ['arm', run.arm],
    ['epoch', `${run.epoch}/${run.epochs}`],
    ['success rate', `${rateText(run.successRate)} (mean of the last 5: ${rateText(run.recentSuccessRate)})`],
    ['held-out', rateText(run.heldOut)],
    ['difficulty', rateText(run.difficulty, 1)],
    ['last epoch', `${timeText(run.updated)} UTC`],
  ];
  if (run.forkedFrom.length > 0) details.push(['lineage', lineageText(run.forkedFrom)]);
  if (run.retunes.length > 0) details.push(['retuned', retunesText(run.retunes)]);
  if (run.requests.length > 0) details.push(['asked', requestsText(run.requests)]);
  if (run.jobs.length > 0) details.push(['training job', jobsText(run.jobs, ' '.repeat(NAME_WIDTH))]);
  details.push(['folder', run.folder]);
  if (run.problem !== null) details.push(['problem', run.problem]);
  const text = details.map(([name, value]) => name.padEnd(NAME_WIDTH) + value).join('\n');
  return run.progress === null ? text : `${text}\n${progressScreen(run.progress)}`;
}
