import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { isServerFailure } from '../../temporal/server-failure.ts';
import type { Progress } from '../../types/activity-types.ts';
import type { experimentWorkflow } from '../../workflows/experiment.ts';
import { CliError, exitCodes } from '../context.ts';
import type { CliContext, ExitCode } from '../context.ts';
import { Interruption } from './interruption.ts';
import { queryProgress, queryRunProgress } from './query-progress.ts';
import { openSession } from './session.ts';
import { workflowAddress } from './temporal-source.ts';
import { explainFailure } from './workflow-failure.ts';
import type { ExternalTemporal, Session, SessionUse } from './session.ts';

export type ExperimentHandle = WorkflowHandle<typeof experimentWorkflow>;

interface SessionWork<Result> {
  use: SessionUse;
  /** Its page in the dashboard: `runs/laptop`. */
  page: string;
  resumeCommand: string;
  /** Ends what is followed, if this process does not run its stack. */
  cancelCommand: string;
  /** What is done in the session; gives undefined if a stop was requested. */
  follow: (session: Session, interruption: Interruption) => Promise<Result | undefined>;
  /** What is done with the result, when the session is closed. */
  end: (result: Result) => Promise<ExitCode>;
}

/**
 * Opens a session, follows something in it until that ends or Ctrl-C comes, and closes the session. Ctrl-C
 * stops the stack of this process; what runs on a server of others continues there.
 */
export async function runInSession<Result>(
  external: ExternalTemporal | null,
  context: CliContext,
  { use, page, resumeCommand, cancelCommand, follow, end }: SessionWork<Result>,
): Promise<ExitCode> {
  let continuesElsewhere = external !== null;
  const interruption = new Interruption((signal) =>
    context.print(
      continuesElsewhere
        ? `\n${signal}: no longer followed; what is under way continues on its server.`
        : `\n${signal}: stopping; what is under way is saved. Once more stops at once.`,
    ),
  );
  const session = await openSession(external, context, interruption, use);
  continuesElsewhere = session?.ownsStack === false;
  const dashboard = session?.ownsStack === true ? await dashboardBeside(session, page, context) : null;
  if (session !== undefined && dashboard !== null) session.dashboard = dashboard.origin;
  try {
    const result = session && (await follow(session, interruption));
    if (session === undefined || result === undefined) {
      context.print(
        continuesElsewhere
          ? `To follow it again: ${resumeCommand}\nTo end it: ${cancelCommand}`
          : `Stopping. To resume: ${resumeCommand}`,
      );
      return exitCodes.interrupted;
    }
    await session.close(interruption.hurry);
    return await end(result);
  } finally {
    await dashboard?.close();
    await session?.close(interruption.hurry);
    interruption.dispose();
  }
}

/** Serves the dashboard while a run is followed, and prints where. A run does without it if it cannot be served. */
async function dashboardBeside(
  session: Session,
  page: string,
  context: CliContext,
): Promise<{ origin: string; close: () => Promise<void> } | null> {
  if (context.env.GENENV_DASHBOARD === 'off') return null;
  const { openDashboard } = await import('./open-dashboard.ts');
  try {
    const dashboard = await openDashboard(
      { server: session, findServer: () => Promise.resolve(session) },
      context,
    );
    context.print(`Dashboard: ${dashboard.address}#/${page}`);
    return { ...dashboard, origin: new URL(dashboard.address).origin };
  } catch (error) {
    context.warn(`Without a dashboard: ${(error as Error).message}`);
    return null;
  }
}

/**
 * A workflow's result, or undefined if a stop was requested. @throws CliError if it failed or the stack is
 * lost
 */
async function sessionResult<Result>(
  { client, lost }: Session,
  id: string,
  handle: { result(): Promise<Result> },
  interruption: Interruption,
): Promise<Result | undefined> {
  const stackLost = lost.then((reason): never => {
    throw new CliError(reason.message);
  });
  stackLost.catch(() => undefined);
  try {
    return await interruption.unlessStopped(
      Promise.race([awaitResult(client, handle, interruption.stop), stackLost]),
    );
  } catch (error) {
    throw error instanceof WorkflowFailedError ? explainFailure(error, id) : error;
  }
}

/** A workflow's result, as `sessionResult` gives it; `watch` shows the progress until then. */
export async function resultWhileWatching<Result>(
  session: Session,
  { id, handle }: { id: string; handle: { result(): Promise<Result> } },
  interruption: Interruption,
  watch: (stop: AbortSignal) => Promise<void>,
): Promise<Result | undefined> {
  const ended = new AbortController();
  const watching = watch(AbortSignal.any([ended.signal, interruption.stop]));
  try {
    return await sessionResult(session, id, handle, interruption);
  } finally {
    ended.abort();
    await watching;
  }
}

const RETRY_MS = 1_000;

/**
 * The result, even if the server goes away meanwhile.
 * @throws WorkflowFailedError, and what the client throws once it is closed
 */
async function awaitResult<Result>(
  client: Client,
  handle: { result(): Promise<Result> },
  stop: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await client.withAbortSignal(stop, () => handle.result());
    } catch (error) {
      if (error instanceof WorkflowFailedError || stop.aborted || !isServerFailure(error)) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Queries the progress until `stop`; a worker that is busy or away is queried again later. */
export async function pollProgress(
  client: Client,
  id: string,
  {
    everyMs,
    detail,
    stop,
    show,
  }: { everyMs: number; detail: boolean; stop: AbortSignal; show: (progress: Progress) => void },
): Promise<void> {
  while (!stop.aborted) {
    const progress = await (detail ? queryProgress(client, id) : queryRunProgress(client, id));
    if (progress !== undefined && !isAborted(stop)) show(progress);
    await sleep(everyMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Shows the state that the workflow ended in, which may fall between two polls. */
export async function showFinalProgress(
  client: Client,
  id: string,
  show: (progress: Progress) => void,
): Promise<void> {
  const progress = await queryRunProgress(client, id);
  if (progress !== undefined) show(progress);
}

const isAborted = (signal: AbortSignal): boolean => signal.aborted;

/** The workflow that runs under an id; null if none does. */
export async function describeRunning(
  client: Client,
  id: string,
): Promise<{ memo: Record<string, unknown> | undefined; startTime: Date } | null> {
  try {
    const { status, memo, startTime } = await client.workflow.getHandle(id).describe();
    return status.name === 'RUNNING' ? { memo, startTime } : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** The address of a workflow in Temporal's UI, to be printed after its id; empty without a UI. */
export const workflowLink = ({ ui }: Session, workflowId: string): string =>
  ui === null ? '' : `: ${workflowAddress(ui, workflowId)}`;
