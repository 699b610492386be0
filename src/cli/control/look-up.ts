import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { readRunOverview, requireRun } from '../../runs/run-state.ts';
import type { experimentWorkflow as experiment } from '../../workflows/experiment.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { reachableTemporal } from '../run/reachable-temporal.ts';
import type { ExperimentHandle } from '../run/start-experiment.ts';
import type { TemporalOptions } from '../temporal-options.ts';

export interface FoundWorkflow {
  client: Client;
  handle: ExperimentHandle;
  running: boolean;
}

/**
 * A run's workflow on the server that can be reached; null where there is no server, or the server does not
 * know the run.
 */
export async function lookUp(
  id: string,
  options: TemporalOptions,
  context: CliContext,
): Promise<FoundWorkflow | null> {
  const client = await reachableTemporal(options, context);
  if (client === null) return null;
  const handle = client.workflow.getHandle<typeof experiment>(id);
  try {
    return { client, handle, running: (await handle.describe()).status.name === 'RUNNING' };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/**
 * The workflow of a run that runs now. @throws CliError that names the runs there are, or says why this one
 * does not run and what to do
 */
export async function runningWorkflow(
  id: string,
  options: TemporalOptions,
  context: CliContext,
): Promise<FoundWorkflow> {
  const found = await lookUp(id, options, context);
  if (found?.running === true) return found;
  const run = await readRunOverview(await requireRun(homeFolder(context.env), id));
  if (run?.finished === true)
    throw new CliError(
      `${id} is not running: it is finished. To go on from its last epoch: npx genenv fork ${id} --epoch ${run.epoch ?? 0} --set epochs=${2 * (run.epoch ?? 1)}`,
    );
  throw new CliError(`${id} is not running; \`npx genenv resume ${id}\` starts it again from its last epoch`);
}
