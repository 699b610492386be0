import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/**
 * What Temporal Cloud would bill of an event, in actions, by its table of history event types
 * (https://docs.temporal.io/evaluate/cloud/actions).
 */
function billed(event: HistoryEvent): number {
  // The parent has paid for the start of a child.
  if (event.workflowExecutionStartedEventAttributes)
    return event.workflowExecutionStartedEventAttributes.parentWorkflowExecution ? 0 : 1;
  if (event.startChildWorkflowExecutionInitiatedEventAttributes) return 2;
  if (event.activityTaskStartedEventAttributes)
    return (event.activityTaskStartedEventAttributes.attempt ?? 1) - 1;
  const single = [
    event.activityTaskScheduledEventAttributes,
    event.timerStartedEventAttributes,
    event.workflowExecutionSignaledEventAttributes,
    event.workflowExecutionUpdateAcceptedEventAttributes,
    event.workflowExecutionOptionsUpdatedEventAttributes,
  ];
  if (single.some(Boolean)) return 1;
  const attributes = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
  return attributes && !('TemporalChangeVersion' in attributes) ? 1 : 0;
}

/** Actions of a workflow and of those that it continued as. */
async function actionsOfRuns(client: Client, workflowId: string): Promise<number> {
  let actions = 0;
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    actions += (events ?? []).reduce((sum, event) => sum + billed(event), 0);
  }
  return actions;
}

/** Actions in the real histories of an experiment and of its epochs, by epoch; 0 is the experiment's own. */
export async function billedActions(client: Client, id: string, epochs: number): Promise<number[]> {
  const ids = Array.from(
    { length: epochs },
    (_, index) => `${id}/epoch-${String(index + 1).padStart(4, '0')}`,
  );
  return Promise.all([id, ...ids].map((workflow) => actionsOfRuns(client, workflow)));
}
