import type { Client } from '@temporalio/client';
import { armName } from '../../config/arms.ts';
import type { Experiment } from '../../config/experiment.ts';
import { changedFields } from '../../config/retune.ts';
import { experimentNeeds } from '../../dev-stack/stack-needs.ts';
import { lastTurn, quotaReason } from '../../runs/last-turn.ts';
import { finishRewind } from '../../runs/rewind.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { experimentHash, lastRewindTime, readRunOverview, runsFolder } from '../../runs/run-overview.ts';
import { isServerFailure } from '../../temporal/server-failure.ts';
import { nameHome } from '../../tracking/identity.ts';
import type { TrackerName } from '../../tracking/trackers.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { ExperimentResult } from '../../workflows/experiment-outcome.ts';
import type { experimentWorkflow } from '../../workflows/experiment.ts';
import { exitCodes } from '../context.ts';
import type { CliContext, ExitCode } from '../context.ts';
import {
  describeRunning,
  pollProgress,
  resultWhileWatching,
  runInSession,
  showFinalProgress,
  workflowLink,
} from './follow.ts';
import type { ExperimentHandle } from './follow.ts';
import type { Interruption } from './interruption.ts';
import { requireEngines } from './needs.ts';
import { progressDisplay } from './progress-display.ts';
import type { ExperimentFile } from './read-file.ts';
import { RunTrackers } from './run-trackers.ts';
import { requireServersPermitted } from './server-permission.ts';
import type { ExternalTemporal, Session } from './session.ts';
import { loadWorldAsWorker } from './load-world.ts';

/** An experiment to start or to resume. */
export interface RunRequest extends ExperimentFile {
  id: string;
  home: string;
  resumeCommand: string;
  cancelCommand: string;
  /** The command that starts the same experiment under a new id. */
  restartCommand: string;
  /** Whether runs that were interrupted earlier are left as they are. */
  only?: boolean;
  /** Where its epochs are sent beside the run. */
  trackers?: readonly TrackerName[];
  /** Called if its workflow runs already, to resume it for example. */
  onAttached?: (running: { client: Client; handle: ExperimentHandle }) => Promise<void>;
}

/**
 * Starts or resumes an experiment, and follows it to its end. Checks everything before it starts or writes
 * anything.
 */
export async function startOrResume(
  request: RunRequest,
  external: ExternalTemporal | null,
  context: CliContext,
): Promise<ExitCode> {
  if (await finishRewind(new RunFolder(runsFolder(request.home), request.id), request.home))
    context.print(`A rewind of ${request.id} had been interrupted; it is done now.`);
  // Files on this machine say nothing about a run whose workers are elsewhere.
  if (external === null && (await reportIfFinished(request, context))) return exitCodes.ok;

  const needs = experimentNeeds(request.experiment);
  if (external === null) {
    requireEngines(needs, [request.experiment]);
    requireServersPermitted([request.experiment], context);
  }
  const { id: runId, home, trackers = [] } = request;
  // Followers that start at once find one name.
  if (trackers.length > 0) await nameHome(home);
  const tracked = new RunTrackers({ trackers, home, runId }, context);
  try {
    return await runInSession(external, context, {
      use: { needs, own: request.id, only: request.only === true },
      page: `runs/${request.id}`,
      resumeCommand: request.resumeCommand,
      cancelCommand: request.cancelCommand,
      follow: (session, interruption) => followRun(session, request, context, interruption),
      end: async (result) => {
        await tracked.end();
        await printOutcome(request, result, context);
        return result.outcome === 'stopped' ? exitCodes.stopped : exitCodes.ok;
      },
    });
  } finally {
    await tracked.end();
  }
}

/** Prints the report if all epochs are done. @throws InvalidConfig if the id belongs to another file */
async function reportIfFinished(
  { experiment, id, home, restartCommand }: RunRequest,
  context: CliContext,
): Promise<boolean> {
  const folder = new RunFolder(runsFolder(home), id);
  const run = await readRunOverview(folder);
  if (run === null) return false;
  if (run.sha256 !== experimentHash(experiment)) {
    const file = (await folder.readExperiment())?.experiment;
    throw new InvalidConfig(
      `experiment: the id ${JSON.stringify(id)} belongs to another experiment file ` +
        `(${changedFields(file, experiment)}); start this one under another id (${restartCommand}), ` +
        `or continue with ${folder.experimentFile}`,
    );
  }
  if (!run.finished) {
    if (run.epoch !== null)
      context.print(`${id} continues after epoch ${run.epoch} of ${run.experiment.epochs}.`);
    return false;
  }
  const { writeReport } = await import('../../report/write-report.ts');
  const report = await writeReport({ home, runId: id, loadWorld: loadWorldAsWorker(context) });
  context.print(`${id} is finished: ${run.epoch ?? 0} epochs. Report: ${report}`);
  context.print(`To start a fresh one, give it another id: ${restartCommand}`);
  return true;
}

/** The result, or undefined if a stop was requested. */
async function followRun(
  session: Session,
  { raw, experiment, id, home, only, onAttached }: RunRequest,
  context: CliContext,
  interruption: Interruption,
): Promise<ExperimentResult | undefined> {
  const { handle, attached } = await startExperiment(session.client, {
    id,
    raw,
    experiment,
    rewoundAt: await lastRewindTime(new RunFolder(runsFolder(home), id)),
    ...(session.dashboard !== undefined && { dashboard: session.dashboard }),
  });
  context.print(`${attached ? 'Following' : 'Started'} ${id}${workflowLink(session, id)}`);
  if (attached) await onAttached?.({ client: session.client, handle });
  const otherRuns = !session.isEmbedded || only === true ? [] : await listOtherRunning(session.client, id);
  if (otherRuns.length > 0) {
    const ids = otherRuns.join(', ');
    context.print(
      session.ownsStack
        ? `Interrupted earlier, these continue at the same time: ${ids} ` +
            '(`npx genenv cancel` ends one; with `--only` they would be left as they are)'
        : `At the same time run: ${ids} (\`npx genenv cancel\` ends one)`,
    );
  }
  const display = progressDisplay(context);
  try {
    const result = await resultWhileWatching(session, { id, handle }, interruption, (stop) =>
      pollProgress(session.client, id, { ...display, stop }),
    );
    if (result !== undefined) await showFinalProgress(session.client, id, display.show);
    return result;
  } finally {
    display.end();
  }
}

async function printOutcome(
  { id, home, resumeCommand, restartCommand }: RunRequest,
  result: ExperimentResult,
  context: CliContext,
): Promise<void> {
  context.print(
    `${id}: ${result.outcome} after ${result.epochs} epochs; ledger ${result.ledger.slice(0, 12)}`,
  );
  const folder = new RunFolder(runsFolder(home), id);
  if ((await readRunOverview(folder)) === null) {
    context.print('Its files are with its workers, not in this home folder.');
    return;
  }
  const quota = quotaReason(lastTurn(await folder.events()));
  if (quota !== undefined) context.print(`A quota ended it: ${quota}.`);
  const { summaryTable, writeResults } = await import('./run-results.ts');
  context.print(await summaryTable(home, id));
  context.print(`Report: ${await writeResults(home, id, context)}`);
  if (quota !== undefined) context.print(`To resume with a higher quota: ${resumeCommand}`);
  else
    context.print(
      result.outcome === 'stopped' ? `To resume: ${resumeCommand}` : `A fresh one: ${restartCommand}`,
    );
}

export interface StartedExperiment {
  handle: ExperimentHandle;
  /** Whether it was running already. */
  attached: boolean;
}

export interface StartRequest {
  id: string;
  raw: unknown;
  experiment: Experiment;
  /** When the run was last rewound; null if never. */
  rewoundAt: Date | null;
  /** Address of a dashboard, which the workflow's details then hold. */
  dashboard?: string;
}

/**
 * Starts the experiment's workflow, or attaches to the one that runs under this id. A workflow older than the
 * last rewind works on epochs that no longer exist: it is terminated, and the run resumes from its files.
 * @throws InvalidConfig if the id runs with another file
 */
export async function startExperiment(
  client: Client,
  { id, raw, experiment, rewoundAt, dashboard }: StartRequest,
): Promise<StartedExperiment> {
  const hash = experimentHash(experiment);
  const existing = await describeRunning(client, id);
  const outdated = existing !== null && rewoundAt !== null && existing.startTime < rewoundAt;
  const running = outdated ? null : existing;
  const runningHash = running?.memo?.experimentHash;
  if (runningHash !== undefined && runningHash !== hash) {
    throw new InvalidConfig(
      `experiment: the id ${JSON.stringify(id)} is running with another experiment file; ` +
        'wait until it has ended, or give --id another',
    );
  }
  const { name, epochs, arm, seed } = experiment;
  const summary = `${name}: ${epochs} epochs, ${armName(arm)}, seed ${seed}`;
  const handle = await client.workflow.start<typeof experimentWorkflow>('experiment', {
    taskQueue: queues.workflows,
    workflowId: id,
    args: [raw],
    workflowIdConflictPolicy: outdated ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { experimentHash: hash },
    staticSummary: summary.slice(0, 200),
    ...(dashboard !== undefined && { staticDetails: `[Dashboard](${dashboard}/#/runs/${id})` }),
  });
  // A handle by id alone, since the workflow continues as new.
  return {
    handle: client.workflow.getHandle<typeof experimentWorkflow>(handle.workflowId),
    attached: running !== null,
  };
}

/** Other experiments that run on this server; empty if the server cannot list workflows. */
async function listOtherRunning(client: Client, id: string): Promise<string[]> {
  const ids: string[] = [];
  try {
    for await (const { workflowId } of client.workflow.list({
      query: 'WorkflowType = "experiment" AND ExecutionStatus = "Running"',
    }))
      if (workflowId !== id) ids.push(workflowId);
  } catch (error) {
    if (!isServerFailure(error)) throw error;
  }
  return ids;
}
