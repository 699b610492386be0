import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { LiveView, PhaseAttempt } from '../../dashboard/api.ts';
import type { LiveSource } from '../../dashboard/live-source.ts';
import { epochWorkflowId } from '../../formats/epoch-id.ts';
import type { RunFolder } from '../../runs/run-folder.ts';
import { isServerFailure } from '../../temporal/server-failure.ts';
import { resumeCommand } from './command-line.ts';
import type { TemporalOptions } from './options.ts';
import { currentState, QUERY_MS, resumableStates } from './run-activity.ts';
import type { RunActivity } from './run-activity.ts';
import { isUnanswered, serverFailureText } from './server-failure-text.ts';
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

/** Finds the server that there is; null if none runs. @throws Error if there is one that does not answer */
export type FindServer = () => Promise<TemporalServer | null>;

/** The pause between two searches for a server. */
const SEARCH_PAUSE_MS = 3_000;
const FILES_ANSWER = 'what is shown is as the files of the run say.';
const SILENCE = `Temporal does not answer: ${FILES_ANSWER}`;

/** What Temporal knows of runs; while no server answers, what their files say. */
export class TemporalSource implements LiveSource {
  readonly #find: FindServer;
  readonly #options: TemporalOptions;
  #server: TemporalServer | null;
  /** Why the server that there is cannot be asked; null if it can. Only searches ask it then. */
  #problem: string | null = null;
  #search: Promise<void> | undefined;
  #nextSearch = 0;

  /**
   * @param server that answers at the start; null if none does
   * @param options that name it, for the commands that are shown
   */
  constructor(server: TemporalServer | null, find: FindServer, options: TemporalOptions = {}) {
    this.#server = server;
    this.#find = find;
    this.#options = options;
  }

  async live(folder: RunFolder, run: FiledRun): Promise<LiveView> {
    // Nobody waits for a server: until one is found, files answer.
    if (!this.#isAnswering() && Date.now() >= this.#nextSearch) void this.#searchOnce();
    const server = this.#server;
    try {
      return await this.#view(folder, run);
    } catch (error) {
      if (server !== null && isServerFailure(error)) {
        await this.#checkServer();
        if (!this.#isAnswering()) return this.live(folder, run);
      }
      return { ...quiet('unreadable'), temporalUi: addressIn(server, folder.id), problem: problemOf(error) };
    }
  }

  #isAnswering(): boolean {
    return this.#server !== null && this.#problem === null;
  }

  async #view(folder: RunFolder, run: FiledRun): Promise<LiveView> {
    const temporalUi = addressIn(this.#server, folder.id);
    if (run.isFinished) return { ...quiet('finished'), temporalUi };
    const problem = this.#problem;
    const client = problem === null ? (this.#server?.client ?? null) : null;
    const current = await currentState(folder, client);
    // A run that no file says to have ended may run: a command to resume it could start it a second time.
    if (problem !== null)
      return {
        ...quiet(current.state === 'interrupted' ? 'unreadable' : current.state),
        temporalUi,
        problem,
      };
    const epoch = current.progress?.epoch ?? run.epoch + 1;
    const isActive = current.progress !== null || current.state === 'running';
    const [phases, jobs] =
      client === null || !isActive
        ? [[], []]
        : await Promise.all([phaseAttempts(client, folder.id, epoch), currentJobs(client, folder.id, epoch)]);
    const canResume = resumableStates.has(current.state);
    return {
      ...current,
      isActive,
      phases,
      jobs,
      temporalUi,
      resumeCommand: canResume ? resumeCommand(folder.id, this.#options) : null,
    };
  }

  /** Finds out, after a call has failed, whether the server answers: one slow answer says nothing of it. */
  async #checkServer(): Promise<void> {
    const isKnown = await Promise.race([
      this.#searchOnce().then(() => true),
      sleep(QUERY_MS, false, { ref: false }),
    ]);
    if (!isKnown) this.#problem = SILENCE;
  }

  /** One search at a time: each connects, or asks a connection. */
  #searchOnce(): Promise<void> {
    return (this.#search ??= this.#findAnswering().then(
      (server) => this.#endSearch(server, null),
      (error: unknown) => this.#endSearch(this.#server, searchProblem(error)),
    ));
  }

  #endSearch(server: TemporalServer | null, problem: string | null): void {
    this.#server = server;
    this.#problem = problem;
    this.#search = undefined;
    this.#nextSearch = Date.now() + SEARCH_PAUSE_MS;
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

/** What the files of a run say of it. */
interface FiledRun {
  epoch: number;
  isFinished: boolean;
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

/** Of a server that is there: that it does not answer, or why it refuses. */
const searchProblem = (error: unknown): string =>
  error instanceof Error && isUnanswered(error) ? SILENCE : `${problemOf(error)}; ${FILES_ANSWER}`;

function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isServerFailure(error) ? serverFailureText(error) : error.message;
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
