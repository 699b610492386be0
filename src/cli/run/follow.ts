import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError, WorkflowFailedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { Progress } from '../../types/activity-types.ts';
import type { EpochProgress } from '../../workflows/messages.ts';
import type { ExperimentHandle } from './start-experiment.ts';

const QUERY_SECONDS = 5;
const AGAIN_MS = 1_000;

/**
 * The result, however often the server goes away meanwhile. @throws WorkflowFailedError, and what the client
 * throws once it is closed
 */
export async function awaitResult<Result>(
  client: Client,
  handle: { result(): Promise<Result> },
  stop: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await client.withAbortSignal(stop, () => handle.result());
    } catch (error) {
      if (error instanceof WorkflowFailedError || stop.aborted || !isGrpcServiceError(error)) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

/** Asks for the progress again and again, until `stop`; a worker that is busy or away is asked later. */
export async function pollProgress(
  client: Client,
  handle: ExperimentHandle,
  {
    everyMs,
    detail,
    stop,
    show,
  }: { everyMs: number; detail: boolean; stop: AbortSignal; show: (progress: Progress) => void },
): Promise<void> {
  while (!stop.aborted) {
    const progress = await ask(client, () => handle.query<Progress>('progress'));
    const epoch =
      detail && progress?.status === 'running'
        ? await ask(client, () => epochProgress(client, handle.workflowId, progress.epoch))
        : undefined;
    if (progress !== undefined && !isAborted(stop))
      show(
        epoch === undefined
          ? progress
          : { ...progress, phase: epoch.phase, rolloutsDone: epoch.rolloutsDone },
      );
    await sleep(everyMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** The state that it ended in, which falls between two looks. */
export async function showEnd(
  client: Client,
  handle: ExperimentHandle,
  show: (progress: Progress) => void,
): Promise<void> {
  const progress = await ask(client, () => handle.query<Progress>('progress'));
  if (progress !== undefined) show(progress);
}

const isAborted = (signal: AbortSignal): boolean => signal.aborted;

const epochProgress = (client: Client, id: string, epoch: number): Promise<EpochProgress> =>
  client.workflow
    .getHandle(`${id}/epoch-${String(epoch).padStart(4, '0')}`)
    .query<EpochProgress>('epochProgress');

/** What a query answers; undefined where it can not be answered now. */
export async function ask<T>(client: Client, query: () => Promise<T>): Promise<T | undefined> {
  try {
    return await client.withDeadline(Date.now() + QUERY_SECONDS * 1000, query);
  } catch {
    // No worker yet, an epoch that has just ended, a server that restarts: there is another time.
    return undefined;
  }
}
