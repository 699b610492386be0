import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { identityFields } from '../../activities/evaluation/evaluation-inputs.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { EvaluationProgress } from '../../types/evaluation-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { evaluationWorkflow, rescoringWorkflow } from '../../workflows/evaluation.ts';
import { phaseText } from '../../workflows/outage-text.ts';
import type { CliContext } from '../context.ts';
import { createLiveText } from './live-text.ts';
import { describeRunning, resultWhileWatching, workflowLink } from './follow.ts';
import type { Interruption } from './interruption.ts';
import { OutageLines } from './outage-lines.ts';
import { bar } from './progress-display.ts';
import { queryIfAnswered } from './query-progress.ts';
import type { Session } from './session.ts';

interface ScoringHandle<Result> {
  workflowId: string;
  result(): Promise<Result>;
  query<Answer>(name: string): Promise<Answer>;
}

/**
 * Starts an evaluation, or attaches to the one that runs under this id.
 * @throws InvalidConfig if the id runs with other settings
 */
export async function startEvaluation(
  client: Client,
  { id, raw, evaluation, summary }: { id: string; raw: unknown; evaluation: Evaluation; summary: string },
): Promise<WorkflowHandle<typeof evaluationWorkflow>> {
  const hash = hashOf(identityFields(evaluation));
  const running = await describeRunning(client, id);
  const runningHash = running?.memo?.evaluationHash;
  if (runningHash !== undefined && runningHash !== hash)
    throw new InvalidConfig(
      `evaluation: the id ${JSON.stringify(id)} is running with other settings; ` +
        'wait until it has ended, or give --id another',
    );
  return client.workflow.start<typeof evaluationWorkflow>('evaluation', {
    taskQueue: queues.workflows,
    workflowId: id,
    args: [raw],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { evaluationHash: hash },
    staticSummary: summary,
  });
}

/** Id of the workflow that judges the answers of an evaluation again. */
export const rescoringId = (evaluation: string): string => `${evaluation}/rescoring`;

/** Judges the answers of an evaluation again. */
export const startRescoring = (
  client: Client,
  id: string,
): Promise<WorkflowHandle<typeof rescoringWorkflow>> =>
  client.workflow.start<typeof rescoringWorkflow>('rescoring', {
    taskQueue: queues.workflows,
    workflowId: rescoringId(id),
    args: [{ evaluation: id }],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: `the answers of ${id}, judged again`,
  });

/** Shows the progress of an evaluation until `stop`: a bar on a terminal, plain lines without one. */
async function showProgress(
  client: Client,
  handle: Pick<ScoringHandle<unknown>, 'query'>,
  { terminal, print }: CliContext,
  stop: AbortSignal,
): Promise<void> {
  const live = terminal === null ? null : createLiveText(terminal);
  const outages = new OutageLines(print);
  let printed = '';
  const showLatest = async (): Promise<void> => {
    const progress = await queryIfAnswered(client, () => handle.query<EvaluationProgress>('progress'));
    if (progress === undefined) return;
    const { status, shards, answered, judged, waiting } = progress;
    const started = shards > 0;
    const line = started ? `${status}: ${answered} of ${shards} shards answered, ${judged} judged` : status;
    if (live !== null)
      live.show(phaseText(`${line}  ${bar(started ? (answered + judged) / (2 * shards) : 0)}`, waiting));
    else {
      if (line !== printed) print(line);
      outages.show(waiting ?? null);
    }
    printed = line;
  };
  while (!stop.aborted) {
    await showLatest();
    await sleep(1_000, undefined, { signal: stop }).catch(() => undefined);
  }
  await showLatest();
  live?.done();
}

/** Shows the progress of a workflow that scores, until it has ended. */
export async function followEvaluation<Result>(
  session: Session,
  { id, handle }: { id: string; handle: ScoringHandle<Result> },
  context: CliContext,
  interruption: Interruption,
): Promise<Result | undefined> {
  context.print(`Following ${id}${workflowLink(session, handle.workflowId)}`);
  return resultWhileWatching(session, { id, handle }, interruption, (stop) =>
    showProgress(session.client, handle, context, stop),
  );
}
