import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';

/** Waits for the end of a run. @throws Error with the work it waits for, if that does not end in time */
export async function runEnds(client: Client, id: string, timeoutMs: number): Promise<void> {
  const limit = new AbortController();
  const late = sleep(timeoutMs, 'late' as const, { signal: limit.signal });
  try {
    const ended = client.workflow.getHandle(id).result();
    const first: unknown = await Promise.race([ended, late]);
    if (first !== 'late') return;
  } finally {
    limit.abort();
  }
  const pending = (await pendingActivities(client, id)).join('; ') || 'no activity';
  throw new Error(`${id} did not end within ${timeoutMs} ms; it waits for ${pending}`);
}

/** What a workflow and its children wait for, an activity a text. */
async function pendingActivities(client: Client, id: string): Promise<string[]> {
  const { raw } = await client.workflow.getHandle(id).describe();
  const children = await Promise.all(
    (raw.pendingChildren ?? []).map(({ workflowId }) => pendingActivities(client, workflowId!)),
  );
  const own = (raw.pendingActivities ?? []).map(
    ({ activityType, attempt, lastFailure }) =>
      `${activityType?.name}, attempt ${attempt}, after ${lastFailure?.message ?? 'no failure'}`,
  );
  return [...own, ...children.flat()];
}
