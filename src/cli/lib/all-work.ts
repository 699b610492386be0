import type { Client } from '@temporalio/client';
import { comparisonStatus, comparisonStatuses, hasComparison } from './comparison-status.ts';
import { evaluationStatus, evaluationStatuses, hasEvaluation } from './evaluation-status.ts';
import { nightStatuses } from './night-status.ts';
import type { TemporalOptions } from './options.ts';
import { runningWorkflows } from './work-status.ts';
import type { WorkStatus } from './work-status.ts';

/**
 * Evaluations, comparisons and nights of a home, by its files, and by Temporal if a server is reached.
 * @param options that name the server, for the commands
 */
export async function readAllWork(
  home: string,
  client: Client | null,
  options: TemporalOptions,
): Promise<WorkStatus[]> {
  const server = { client, running: await runningWorkflows(client), options };
  const kinds = await Promise.all([
    evaluationStatuses(home, server),
    comparisonStatuses(home, server),
    nightStatuses(home, server),
  ]);
  return kinds.flat();
}

/** Whether an evaluation or a comparison of this id has a folder. */
export const isWork = async (home: string, id: string): Promise<boolean> =>
  (await hasEvaluation(home, id)) || (await hasComparison(home, id));

/** The evaluation and the comparison of this id: one of them, as a rule. */
export async function readWork(
  home: string,
  id: string,
  client: Client | null,
  options: TemporalOptions,
): Promise<WorkStatus[]> {
  const server = { client, running: await runningWorkflows(client), options };
  return Promise.all([
    ...((await hasEvaluation(home, id)) ? [evaluationStatus(home, id, server)] : []),
    ...((await hasComparison(home, id)) ? [comparisonStatus(home, id, server)] : []),
  ]);
}
