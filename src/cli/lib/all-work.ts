import type { Client } from '@temporalio/client';
import { comparisonStatus, comparisonStatuses, hasComparison } from './comparison-status.ts';
import { evaluationStatus, evaluationStatuses, hasEvaluation } from './evaluation-status.ts';
import { nightStatuses } from './night-status.ts';
import { runningWorkflows } from './work-status.ts';
import type { WorkStatus } from './work-status.ts';

/** Evaluations, comparisons and nights of a home, by its files, and by Temporal if a server is reached. */
export async function readAllWork(home: string, client: Client | null): Promise<WorkStatus[]> {
  const running = await runningWorkflows(client);
  const kinds = await Promise.all([
    evaluationStatuses(home, client, running),
    comparisonStatuses(home, client, running),
    nightStatuses(home, client, running),
  ]);
  return kinds.flat();
}

/** Whether an evaluation or a comparison of this id has a folder. */
export const isWork = async (home: string, id: string): Promise<boolean> =>
  (await hasEvaluation(home, id)) || (await hasComparison(home, id));

/** The evaluation and the comparison of this id: one of them, as a rule. */
export async function readWork(home: string, id: string, client: Client | null): Promise<WorkStatus[]> {
  const running = await runningWorkflows(client);
  return Promise.all([
    ...((await hasEvaluation(home, id)) ? [evaluationStatus(home, id, client, running)] : []),
    ...((await hasComparison(home, id)) ? [comparisonStatus(home, id, client, running)] : []),
  ]);
}
