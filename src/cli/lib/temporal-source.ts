import type { Client } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { LiveView, PhaseAttempt } from '../../dashboard/api.ts';
import type { LiveSource } from '../../dashboard/live-source.ts';
import { epochWorkflowId } from '../../formats/epoch-id.ts';
import type { RunFolder } from '../../runs/run-folder.ts';
import { currentState, QUERY_MS, resumableStates } from './run-activity.ts';
import { currentJobs } from './training-jobs.ts';
import { causesOf } from './workflow-failure.ts';

/** @param ui address of Temporal's UI */
export const workflowAddress = (ui: string, workflowId: string): string =>
  `${ui}/namespaces/default/workflows/${workflowId}`;

/** What Temporal knows of runs; without a server, what their files say. */
export class TemporalSource implements LiveSource {
  readonly #client: Client | null;
  readonly #ui: string | null;

  /** @param ui address of Temporal's UI; null if none is known */
  constructor(client: Client | null, ui: string | null) {
    this.#client = client;
    this.#ui = ui;
  }

  async live(folder: RunFolder, run: { epoch: number; isFinished: boolean }): Promise<LiveView> {
    const client = this.#client;
    const temporalUi = this.#ui === null ? null : workflowAddress(this.#ui, folder.id);
    const ended = {
      state: 'finished',
      isActive: false,
      progress: null,
      phases: [],
      jobs: [],
      temporalUi,
      resumeCommand: null,
    };
    if (run.isFinished) return ended;
    const current = await currentState(folder, client).catch(() => ({
      state: 'unreadable' as const,
      progress: null,
    }));
    const epoch = current.progress?.epoch ?? run.epoch + 1;
    const isActive = current.progress !== null || current.state === 'running';
    const [phases, jobs] =
      client === null || !isActive
        ? [[], []]
        : await Promise.all([phaseAttempts(client, folder.id, epoch), currentJobs(client, folder.id, epoch)]);
    const resumeCommand = resumableStates.has(current.state) ? `npx genenv resume ${folder.id}` : null;
    return { ...current, isActive, phases, jobs, temporalUi, resumeCommand };
  }
}

/** Phases that are under way in a run's own workflow and in that of its epoch. */
async function phaseAttempts(client: Client, id: string, epoch: number): Promise<PhaseAttempt[]> {
  const workflows = [...new Set([id, epochWorkflowId(id, epoch)])];
  const attempts = await Promise.all(
    workflows.map((workflow) => attemptsIn(client, workflow).catch(() => [] as PhaseAttempt[])),
  );
  return attempts.flat();
}

const states: Record<number, PhaseAttempt['state']> = { 1: 'scheduled', 2: 'running', 3: 'cancelling' };

async function attemptsIn(client: Client, workflow: string): Promise<PhaseAttempt[]> {
  const { raw } = await client.withDeadline(Date.now() + QUERY_MS, () =>
    client.workflow.getHandle(workflow).describe(),
  );
  return Promise.all(
    (raw.pendingActivities ?? []).map(async (activity) => ({
      phase: activity.activityType?.name ?? '',
      workflow,
      attempt: activity.attempt ?? 1,
      state: states[activity.state ?? 0] ?? 'scheduled',
      lastFailure: await failureText(client, activity.lastFailure),
      startedAt: timeOf(activity.lastStartedTime),
      heartbeatAt: timeOf(activity.lastHeartbeatTime),
    })),
  );
}

type Failure = NonNullable<Parameters<typeof decodeOptionalFailureToOptionalError>[1]>;

/** Why an attempt failed, decrypted as the client's data converter does: its root cause. */
async function failureText(client: Client, failure: Failure | null | undefined): Promise<string> {
  const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  if (error === undefined) return '';
  const causes = [error, ...causesOf(error)].map(({ message }) => message);
  return (causes.at(-1) ?? '').slice(0, MAX_FAILURE_CHARS);
}

const MAX_FAILURE_CHARS = 2_000;

const timeOf = (timestamp: { seconds?: unknown } | null | undefined): string =>
  timestamp?.seconds === undefined || timestamp.seconds === null
    ? ''
    : new Date(1_000 * Number(timestamp.seconds)).toISOString();
