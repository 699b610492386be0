import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory, NativeConnection } from '@temporalio/worker';
import { Mutex } from 'async-mutex';
import type { RunFolder } from '../runs/run-folder.ts';
import { requestKey, RequestReader } from '../temporal/requests.ts';
import type { RunRequest } from '../temporal/requests.ts';

const answerMs = 5_000;

/** Reads requests by the connection of a worker. */
export function requestReader(connection: NativeConnection, namespace: string): RequestReader['readNew'] {
  const reader = new RequestReader(connection.workflowService, namespace);
  return (execution, record) =>
    connection.withDeadline(Date.now() + answerMs, () => reader.readNew(execution, record));
}

/** Activities of a run's workflow after which the requests since the last one are recorded. */
const recordedAfter: ReadonlySet<string> = new Set([
  'parseExperiment',
  'openEpoch',
  'retuneExperiment',
  'recordEnd',
]);

/**
 * Records in a run's events who asked for what, as Temporal's history names them. Workflows do not see who
 * calls them, so the worker reads it from the history. Nothing of it is an input or a result.
 * @param say told why it could not be recorded; the activity goes its way
 */
export function requestLog(
  readNew: RequestReader['readNew'],
  runFolder: (id: string) => RunFolder,
  say: (message: string) => void,
): ActivityInterceptorsFactory {
  const mutex = new Mutex();
  return ({ info }: Context) => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } finally {
          const { workflowExecution: execution } = info;
          if (execution && info.workflowType === 'experiment' && recordedAfter.has(info.activityType)) {
            const { workflowId: id } = execution;
            await mutex
              .runExclusive(() => readNew(execution, (requests) => record(requests, runFolder(id))))
              .catch((error: unknown) => say(`${id}: who asked for what is not recorded: ${String(error)}`));
          }
        }
      },
    },
  });
}

async function record(requests: readonly RunRequest[], folder: RunFolder): Promise<void> {
  if (requests.length === 0) return;
  const recorded = new Set(
    (await folder.events()).filter(({ type }) => type === 'requested').map(requestKey),
  );
  for (const request of requests)
    if (!recorded.has(requestKey(request))) await folder.appendEvent({ type: 'requested', ...request });
}
