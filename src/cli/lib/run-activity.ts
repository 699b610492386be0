import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { RunFolder } from '../../runs/run-folder.ts';
import { lastTurn } from '../../runs/last-turn.ts';
import { earlyEnd } from '../../runs/run-end.ts';
import type { RunEnd } from '../../runs/run-end.ts';
import type { Progress } from '../../types/activity-types.ts';
import { queryProgress } from './query-progress.ts';

/** How long Temporal may take to answer before a run is shown by its files alone. */
export const QUERY_MS = 3_000;

/** `interrupted`: epochs are left, and no workflow runs. */
export type RunActivity =
  RunEnd | 'running' | 'paused' | 'stopping' | 'terminated' | 'interrupted' | 'unreadable';

/** States of runs, and of other work, that a command resumes. */
export const resumableStates: ReadonlySet<string> = new Set<RunActivity>([
  'paused',
  'stopped',
  'cancelled',
  'terminated',
  'failed',
  'out of quota',
  'interrupted',
]);

export interface CurrentState {
  state: RunActivity;
  /** Only while it runs and its worker answers. */
  progress: Progress | null;
}

/** The state of a run that is not finished: by its workflow if that runs, else by how it ended. */
export async function currentState(folder: RunFolder, client: Client | null): Promise<CurrentState> {
  const [workflow, turn] = await Promise.all([
    client === null ? null : workflowState(client, folder.id),
    folder.events().then(lastTurn),
  ]);
  if (workflow?.progress !== undefined)
    return { state: activeState(workflow.progress), progress: workflow.progress };
  const end = earlyEnd(turn);
  if (end !== null) return { state: end, progress: null };
  // A run that was rewound since, or that another server runs, is as far as its files say.
  const wasRewound = turn?.type === 'rewinding' || turn?.type === 'rewound';
  return { state: wasRewound ? 'interrupted' : (workflow?.ended ?? 'interrupted'), progress: null };
}

const activeState = (progress: Progress | null): RunActivity =>
  progress?.status === 'paused' || progress?.status === 'stopping' ? progress.status : 'running';

/** `progress` if it runs (null if its worker does not answer), else how it ended as far as Temporal knows. */
async function workflowState(
  client: Client,
  id: string,
): Promise<{ progress?: Progress | null; ended?: RunActivity }> {
  const { isRunning, ended } = await describeWorkflow(client, id);
  if (isRunning) return { progress: (await queryProgress(client, id)) ?? null };
  return ended === undefined ? {} : { ended };
}

/** Whether a workflow runs, else how it ended as far as Temporal knows: a workflow that completed has no `ended`. */
export async function describeWorkflow(
  client: Client,
  id: string,
): Promise<{ isRunning: boolean; ended?: 'failed' | 'cancelled' | 'terminated' }> {
  const handle = client.workflow.getHandle(id);
  try {
    const { status } = await client.withDeadline(Date.now() + QUERY_MS, () => handle.describe());
    switch (status.name) {
      case 'RUNNING':
        return { isRunning: true };
      case 'FAILED':
      case 'TIMED_OUT':
        return { isRunning: false, ended: 'failed' };
      case 'CANCELLED':
        return { isRunning: false, ended: 'cancelled' };
      case 'TERMINATED':
        return { isRunning: false, ended: 'terminated' };
      default:
        return { isRunning: false };
    }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { isRunning: false };
    throw error;
  }
}
