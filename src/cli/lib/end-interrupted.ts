import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import type { ClientOptions } from '@temporalio/client';
import { directIfLocal } from '../../temporal/direct-connection.ts';
import type * as workflows from '../../workflows/index.ts';

type WorkflowType = keyof typeof workflows;

/** How each type of workflow continues once it was ended; an epoch only ever runs as a part. */
const continuations: Record<WorkflowType, (id: string) => string> = {
  experiment: (id) => `npx genenv resume ${id}`,
  comparison: () => 'npx genenv compare FILE',
  evaluation: () => 'the same npx genenv evaluate',
  rescoring: () => 'the same npx genenv rescore',
  nightly: () => 'its next night',
  epoch: () => 'its run',
};

interface RunningWorkflow {
  id: string;
  type: WorkflowType;
  /** Ids of what it is a part of, its parent first. */
  parents: string[];
}

/**
 * Ends the workflows that were interrupted earlier, with their parts, before a worker continues them: as
 * `temporal workflow terminate` does. Their files have all that they did, so they can be continued. Schedules stay.
 * To be called only for the embedded server, by the process that holds the lock of its home.
 * @param own id of what is about to be started. If it runs as a part of something else, such as a comparison, it
 * ends with it, to be started on its own.
 */
export async function endInterrupted(
  server: { address: string; namespace: string; options: ClientOptions },
  own: string,
  say: (line: string) => void,
): Promise<void> {
  const connection = await Connection.connect(directIfLocal({ address: server.address }));
  const client = new Client({ ...server.options, connection, namespace: server.namespace });
  try {
    const interrupted = (await listRunning(client)).filter(
      ({ id, parents }) => (parents.at(-1) ?? id) !== own,
    );
    // Parents first: one whose part is terminated would run it again.
    for (const { id } of interrupted.sort((a, b) => a.parents.length - b.parents.length)) {
      try {
        await client.workflow.getHandle(id).terminate('left by genenv --only');
      } catch (error) {
        // It has ended with its parent.
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    }
    const left = interrupted.filter(({ parents }) => parents.length === 0);
    if (left.length > 0)
      say(
        'Interrupted earlier and left as they are: ' +
          left.map(({ id, type }) => `${id} (continued by ${continuations[type](id)})`).join(', '),
      );
  } finally {
    await connection.close();
  }
}

/** The workflows of this project that run. */
async function listRunning({ workflow }: Client): Promise<RunningWorkflow[]> {
  const types = Object.keys(continuations).map((type) => `"${type}"`);
  const running = new Map<string, { type: WorkflowType; parent: string | undefined }>();
  for await (const { workflowId, type, parentExecution } of workflow.list({
    query: `ExecutionStatus = "Running" AND WorkflowType IN (${types.join(', ')})`,
  }))
    running.set(workflowId, { type: type as WorkflowType, parent: parentExecution?.workflowId ?? undefined });
  return Array.from(running, ([id, { type }]) => {
    const parents: string[] = [];
    for (let at = running.get(id)?.parent; at !== undefined && running.has(at); at = running.get(at)?.parent)
      parents.push(at);
    return { id, type, parents };
  });
}
