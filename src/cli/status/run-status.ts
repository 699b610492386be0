import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { Metrics } from '../../contracts/phases.ts';
import type { Progress } from '../../contracts/progress.ts';
import type { RunFolder } from '../../store/run-folder.ts';
import { armName } from '../run/start-experiment.ts';
import { readRun } from '../run/run-folders.ts';

const QUERY_MS = 3_000;
const RECENT = 5;

/** What `genenv status` knows of a run. */
export interface RunStatus {
  id: string;
  /** `interrupted` = it has epochs to go, and nothing runs it now. */
  state: 'finished' | 'running' | 'interrupted' | 'failed' | 'cancelled' | 'unreadable';
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
  folder: string;
}

/** The status of a run, by its files and by Temporal where that is reached. */
export async function runStatus(folder: RunFolder, client: Client | null): Promise<RunStatus> {
  const unreadable: RunStatus = { id: folder.id, state: 'unreadable', arm: '', epoch: 0, epochs: 0, successRate: null, recentSuccessRate: null, heldOut: null, difficulty: null, updated: null, progress: null, problem: null, folder: folder.path };
  try {
    const run = await readRun(folder);
    if (run === null) return { ...unreadable, problem: 'no experiment.json' };
    const lines = (await folder.metrics()) as { epoch: number; at?: string; metrics?: Metrics }[];
    const values = (name: string): number[] => lines.map(({ metrics }) => metrics?.[name]).filter((value) => typeof value === 'number');
    const rates = values('env/success_rate');
    const last = rates.slice(-RECENT);
    return {
      ...unreadable,
      ...(run.finished ? { state: 'finished', progress: null } : await workflowState(client, folder.id)),
      arm: armName(run.experiment),
      epoch: run.epoch ?? 0,
      epochs: run.experiment.epochs,
      successRate: rates.at(-1) ?? null,
      recentSuccessRate: last.length === 0 ? null : last.reduce((sum, value) => sum + value, 0) / last.length,
      heldOut: values('eval/heldout').at(-1) ?? null,
      difficulty: values('env/difficulty').at(-1) ?? null,
      updated: lines.at(-1)?.at ?? null,
    };
  } catch (error) {
    return { ...unreadable, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function workflowState(client: Client | null, id: string): Promise<Pick<RunStatus, 'state' | 'progress'>> {
  if (client === null) return { state: 'interrupted', progress: null };
  const handle = client.workflow.getHandle(id);
  try {
    const { status } = await client.withDeadline(Date.now() + QUERY_MS, () => handle.describe());
    switch (status.name) {
      case 'RUNNING':
        return { state: 'running', progress: await client.withDeadline(Date.now() + QUERY_MS, () => handle.query<Progress>('progress')).catch(() => null) };
      case 'FAILED':
      case 'TIMED_OUT':
        return { state: 'failed', progress: null };
      case 'CANCELLED':
      case 'TERMINATED':
        return { state: 'cancelled', progress: null };
      default:
        return { state: 'interrupted', progress: null };
    }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'interrupted', progress: null };
    throw error;
  }
}
