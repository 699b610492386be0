import {
  isGrpcDeadlineError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { readRunOverview, requireRun } from '../../runs/run-overview.ts';
import { isServerFailure } from '../../temporal/server-failure.ts';
import type { experimentWorkflow } from '../../workflows/experiment.ts';
import type { ControlState } from '../../workflows/messages.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { commandLine, resumeCommand, temporalFlags } from './command-line.ts';
import type { ExperimentHandle } from './follow.ts';
import type { TemporalOptions } from './options.ts';
import { isUnanswered, serverFailureText } from './server-failure-text.ts';
import { connectIfReachable } from './session.ts';
import { causesOf } from './workflow-failure.ts';

/** The workflow refused an update; `type` is that of the failure. */
export class UpdateRefused extends CliError {
  readonly type: string | undefined;

  constructor(id: string, { message, type }: { message: string; type?: string | null | undefined }) {
    super(`${id}: ${message}`, type === 'InvalidConfig' ? exitCodes.badInput : exitCodes.failed);
    this.type = type ?? undefined;
  }
}

const ANSWER_SECONDS = 30;

/**
 * Sends an update to a running experiment, and gives its answer.
 * @throws UpdateRefused with the reason, CliError if nothing answers
 */
export async function sendUpdate<Answer>(
  { client, handle, options }: Omit<FoundWorkflow, 'running'>,
  update: string,
  ...args: unknown[]
): Promise<Answer> {
  try {
    return await client.withDeadline(Date.now() + ANSWER_SECONDS * 1000, () =>
      handle.executeUpdate<Answer, []>(update, { args: args as [] }),
    );
  } catch (error) {
    throw explainUpdateError(error, handle.workflowId, options);
  }
}

function explainUpdateError(error: unknown, id: string, options: TemporalOptions): unknown {
  if (error instanceof WorkflowUpdateFailedError) return toRefusal(error, id);
  if (error instanceof WorkflowNotFoundError)
    return new CliError(
      `${id} has just ended; \`${commandLine(['status', id], temporalFlags(options))}\` says how`,
    );
  if (
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    (error instanceof Error && isGrpcDeadlineError(error))
  ) {
    return new CliError(
      `${id} has not answered within ${ANSWER_SECONDS} s: no worker serves it, or it is busy; ` +
        '`npx genenv doctor` says what runs. Ask again then.',
    );
  }
  if (!(error instanceof Error) || !isServerFailure(error)) return error;
  return new CliError(
    isUnanswered(error)
      ? `Temporal has gone away: ${error.message}; once it is back, ask again`
      : serverFailureText(error),
  );
}

function toRefusal(error: WorkflowUpdateFailedError, id: string): UpdateRefused {
  return new UpdateRefused(
    id,
    [...causesOf(error)].findLast((cause) => cause instanceof ApplicationFailure) ?? error,
  );
}

export interface FoundWorkflow {
  client: Client;
  handle: ExperimentHandle;
  running: boolean;
  /** The options that name its server. */
  options: TemporalOptions;
}

/** A run's workflow; null if no server can be reached, or if the server does not know the run. */
export async function findWorkflow(
  id: string,
  options: TemporalOptions,
  context: CliContext,
): Promise<FoundWorkflow | null> {
  const client = await connectIfReachable(options, context);
  if (client === null) return null;
  const handle = client.workflow.getHandle<typeof experimentWorkflow>(id);
  try {
    return { client, handle, options, running: (await handle.describe()).status.name === 'RUNNING' };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/**
 * The workflow of a run that runs now.
 * @throws InvalidConfig naming the runs there are, CliError saying why this one does not run and what to do
 */
export async function requireRunningWorkflow(
  id: string,
  options: TemporalOptions,
  context: CliContext,
): Promise<FoundWorkflow> {
  const workflow = await findWorkflow(id, options, context);
  if (workflow?.running === true) return workflow;
  const run = await readRunOverview(await requireRun(homeFolder(context.env), id));
  if (run?.finished === true) {
    const fork = commandLine(['fork', id], {
      '--epoch': run.epoch ?? 0,
      '--set': `epochs=${2 * (run.epoch ?? 1)}`,
      ...temporalFlags(options),
    });
    throw new CliError(`${id} is not running: it is finished. To continue from its last epoch: ${fork}`);
  }
  throw new CliError(
    `${id} is not running; \`${resumeCommand(id, options)}\` starts it again from its last epoch`,
  );
}

/** What a run does next, after a control command. */
export function controlStateText(id: string, { paused, stopAfterEpoch }: ControlState): string {
  if (paused)
    return stopAfterEpoch
      ? `${id} is paused; once resumed it stops after the epoch under way.`
      : `${id} is paused.`;
  return stopAfterEpoch ? `${id} stops after the epoch under way.` : `${id} continues.`;
}
