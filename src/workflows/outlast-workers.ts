import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { WorkerStopped } from '../contracts/worker-stopped.ts';

const workerStopped: WorkerStopped = 'WorkerStopped';

type Activity = (input: never) => Promise<unknown>;

/**
 * The activities, each scheduled again when the worker that ran it was told to stop: a deploy uses up none of their attempts. Not bounded, since
 * each time takes a worker that was stopped; a cancelled workflow schedules nothing more.
 */
export const outlastWorkers = <Activities extends Record<string, Activity>>(
  activities: Activities,
): Activities =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      (input: never) => outlast(() => activity(input)),
    ]),
  ) as Activities;

async function outlast(run: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(
        error instanceof ActivityFailure &&
        error.cause instanceof ApplicationFailure &&
        error.cause.type === workerStopped
      ))
        throw error;
    }
  }
}
