import type { Client } from '@temporalio/client';
import type { Progress } from '../../types/activity-types.ts';
import { epochWorkflowId } from '../../formats/epoch-id.ts';
import type { EpochProgress } from '../../workflows/messages.ts';
import { phaseText } from '../../workflows/outage-text.ts';

const QUERY_SECONDS = 5;

/** What a query answers; undefined if it can not be answered now. */
export async function queryIfAnswered<T>(client: Client, query: () => Promise<T>): Promise<T | undefined> {
  try {
    return await client.withDeadline(Date.now() + QUERY_SECONDS * 1000, query);
  } catch {
    // No worker yet, an epoch that has just ended, or a server that restarts: it is asked again later.
    return undefined;
  }
}

/** The progress of an experiment as its own workflow knows it. */
export const queryRunProgress = (client: Client, id: string): Promise<Progress | undefined> =>
  queryIfAnswered(client, () => client.workflow.getHandle(id).query<Progress>('progress'));

/** The progress of an experiment, with the phase of its epoch, which only the epoch's workflow knows. */
export async function queryProgress(client: Client, id: string): Promise<Progress | undefined> {
  const progress = await queryRunProgress(client, id);
  if (progress === undefined) return undefined;
  const label = `epoch ${progress.epoch}`;
  if (!progress.phase.startsWith(label)) return progress;
  const inEpoch = await queryIfAnswered(client, () => queryEpoch(client, id, progress.epoch));
  if (inEpoch === undefined) return progress;
  // An epoch that an older worker began names no rounds.
  const {
    phase,
    waiting,
    rolloutsDone,
    rolloutsPlanned = progress.rolloutsPlanned,
    round,
  } = inEpoch as OlderEpochProgress;
  return {
    ...progress,
    phase: phaseText(`${label}: ${phase}`, waiting),
    waiting,
    rolloutsDone,
    rolloutsPlanned,
    ...(round && { round }),
  };
}

type OlderEpochProgress = Omit<EpochProgress, 'rolloutsPlanned'> &
  Partial<Pick<EpochProgress, 'rolloutsPlanned'>>;

const queryEpoch = (client: Client, id: string, epoch: number): Promise<EpochProgress> =>
  client.workflow.getHandle(epochWorkflowId(id, epoch)).query<EpochProgress>('epochProgress');
