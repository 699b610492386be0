import type { Client } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { LiveView, PhaseAttempt } from '../../dashboard/api.ts';
import type { LiveSource } from '../../dashboard/live-source.ts';
import { epochWorkflowId } from '../../formats/epoch-id.ts';
import type { RunFolder } from '../../runs/run-folder.ts';
import { isServerFailure } from '../../temporal/server-failure.ts';
import { currentState, QUERY_MS, resumableStates } from './run-activity.ts';
import type { RunActivity } from './run-activity.ts';
import { currentJobs } from './training-jobs.ts';
import { causesOf } from './workflow-failure.ts';

/** @param ui address of Temporal's UI */
export const workflowAddress = (ui: string, workflowId: string): string =>
  `${ui}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`;

/** A Temporal server, and the address of its UI; null if none is known. */
export interface TemporalServer {
  client: Client;
  ui: string | null;
}

/** Finds the server that answers now; null if none runs. */
export type FindServer = () => Promise<TemporalServer | null>;

const NONE_MS = 3_000;
const AWAY_MS = 15_000;

/** What Temporal knows of runs; while no server answers, what their files say. */
export class TemporalSource implements LiveSource {
  readonly #find: FindServer;
  #server: TemporalServer | null;
  #nextFind = 0;

  /** @param server that answers at the start; null if none does */
  constructor(server: TemporalServer | null, find: FindServer) {
    this.#server = server;
    this.#find = find;
  }

  async live(folder: RunFolder, run: { epoch: number; isFinished: boolean }): Promise<LiveView> {
    const server = this.#current();
    try {
      return await liveView(server, folder, run);
    } catch (error) {
      if (server !== null && isServerFailure(error)) {
        this.#server = null;
        this.#nextFind = Date.now() + AWAY_MS;
        return this.live(folder, run);
      }
      return { ...quiet('unreadable'), temporalUi: addressIn(server, folder.id) };
    }
  }

  /** Nobody waits for a server: until one is found, files answer. */
  #current(): TemporalServer | null {
    if (this.#server === null && Date.now() >= this.#nextFind) {
      this.#nextFind = Date.now() + NONE_MS;
      this.#findAnswering().then(
        (server) => (this.#server = server),
        () => (this.#nextFind = Date.now() + AWAY_MS),
      );
    }
    return this.#server;
  }

  async #findAnswering(): Promise<TemporalServer | null> {
    const server = await this.#find();
    if (server === null) return null;
    const { client } = server;
    const { namespace } = client.options;
    await client.withDeadline(Date.now() + QUERY_MS, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
    return server;
  }
}

/** A run of which nothing is under way. */
const quiet = (state: RunActivity) => ({
  state,
  isActive: false,
  progress: null,
  phases: [],
  jobs: [],
  resumeCommand: null,
});

const addressIn = (server: TemporalServer | null, id: string): string | null =>
  typeof server?.ui === 'string' ? workflowAddress(server.ui, id) : null;

async function liveView(
  server: TemporalServer | null,
  folder: RunFolder,
  run: { epoch: number; isFinished: boolean },
): Promise<LiveView> {
  const client = server?.client ?? null;
  const temporalUi = addressIn(server, folder.id);
  if (run.isFinished) return { ...quiet('finished'), temporalUi };
  const current = await currentState(folder, client);
  const epoch = current.progress?.epoch ?? run.epoch + 1;
  const isActive = current.progress !== null || current.state === 'running';
  const [phases, jobs] =
    client === null || !isActive
      ? [[], []]
      : await Promise.all([phaseAttempts(client, folder.id, epoch), currentJobs(client, folder.id, epoch)]);
  const resumeCommand = resumableStates.has(current.state) ? `npx genenv resume ${folder.id}` : null;
  return { ...current, isActive, phases, jobs, temporalUi, resumeCommand };
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
