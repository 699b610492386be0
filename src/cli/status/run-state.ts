import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { RunFolder } from '../../runs/run-folder.ts';
import type { Progress } from '../../types/activity-types.ts';

const QUERY_MS = 3_000;

/** `interrupted` = it has epochs to go, and nothing runs it now. */
export type State =
  | 'finished'
  | 'running'
  | 'paused'
  | 'stopping'
  | 'stopped'
  | 'cancelled'
  | 'terminated'
  | 'failed'
  | 'interrupted'
  | 'unreadable';

export interface Current {
  state: State;
  /** Only while it runs and its worker answers. */
  progress: Progress | null;
}

/** The state of a run that is not finished: by its workflow where it runs, else by how it ended. */
export async function currentState(folder: RunFolder, client: Client | null): Promise<Current> {
  const [workflow, last] = await Promise.all([
    client === null ? null : workflowState(client, folder.id),
    lastTurn(folder),
  ]);
  if (workflow?.progress !== undefined)
    return { state: stateOf(workflow.progress), progress: workflow.progress };
  if (last === 'stopped' || last === 'cancelled' || last === 'failed') return { state: last, progress: null };
  // One that was rewound since, or that another server goes on with, is where its files say.
  return { state: last === 'rewound' ? 'interrupted' : (workflow?.ended ?? 'interrupted'), progress: null };
}

const stateOf = (progress: Progress | null): State =>
  progress?.status === 'paused' || progress?.status === 'stopping' ? progress.status : 'running';

/** How the run ended, or what came after that. */
async function lastTurn(folder: RunFolder): Promise<unknown> {
  const event = (await folder.events()).findLast(({ type }) =>
    ['started', 'resumed', 'moved', 'ended', 'rewound'].includes(type),
  );
  return event?.type === 'ended' ? event.outcome : event?.type;
}

/**
 * `progress` where it runs, null if its worker does not answer; else how it ended, as far as Temporal alone
 * knows.
 */
async function workflowState(
  client: Client,
  id: string,
): Promise<{ progress?: Progress | null; ended?: State }> {
  const handle = client.workflow.getHandle(id);
  try {
    const { status } = await client.withDeadline(Date.now() + QUERY_MS, () => handle.describe());
    switch (status.name) {
      case 'RUNNING':
        return {
          progress: await client
            .withDeadline(Date.now() + QUERY_MS, () => handle.query<Progress>('progress'))
            .catch(() => null),
        };
      case 'FAILED':
      case 'TIMED_OUT':
        return { ended: 'failed' };
      case 'CANCELLED':
        return { ended: 'cancelled' };
      case 'TERMINATED':
        return { ended: 'terminated' };
      default:
        return {};
    }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return {};
    throw error;
  }
}
