import type { WorkflowService } from '@temporalio/client';

/** What somebody asked of a run, as Temporal's history has it. */
export interface RunRequest {
  /** `start`, `cancel`, `reset`, or the name of the update or signal. */
  request: string;
  /** Who, by the asking client's own words: nothing checks them unless the server has an authorizer. */
  identity: string;
  /** When the server took it. */
  time: string;
  /** Number of its event; with the time, the same after a reset, which copies events. */
  event: number;
}

/** The same for a request that is read again. */
export const requestKey = ({ time, event }: { time?: unknown; event?: unknown }): string =>
  `${String(time)} ${String(event)}`;

interface Execution {
  workflowId: string;
  runId?: string;
}

type HistoryService = Pick<
  WorkflowService,
  'getWorkflowExecutionHistory' | 'getWorkflowExecutionHistoryReverse'
>;
type Events = NonNullable<
  Awaited<ReturnType<HistoryService['getWorkflowExecutionHistoryReverse']>>['history']
>['events'];
type HistoryEvent = NonNullable<Events>[number];

/** gRPC's status code. */
const NOT_FOUND = 5;
const pageSize = 200;
/** A run of a workflow continues as new long before. */
const maxPages = 500;
const askedUpdates: readonly string[] = ['pause', 'resume', 'retune', 'stopAfterEpoch'];
const stopSignal = 'stopAfterEpoch';

/** Reads the requests to runs out of their histories, each run of a workflow from where it was read last. */
export class RequestReader {
  readonly #service: HistoryService;
  readonly #namespace: string;
  /** Newest event that was read, by the run of a workflow. */
  readonly #read = new Map<string, number>();

  constructor(service: HistoryService, namespace: string) {
    this.#service = service;
    this.#namespace = namespace;
  }

  /**
   * The requests to a workflow since the last call, oldest first; all of them at the first call. Includes what was
   * asked of the run that it continues, unless Temporal has removed it.
   * @param record keeps them: those that it fails with are read again
   * @throws ServiceError, and what `record` throws
   */
  async readNew(
    execution: Execution,
    record: (requests: RunRequest[]) => Promise<void> = () => Promise.resolve(),
  ): Promise<RunRequest[]> {
    const newest = new Map<string, number>();
    const requests = await this.#requestsTo(execution, newest);
    await record(requests);
    for (const [run, event] of newest) this.#read.set(run, event);
    return requests;
  }

  /** @param newest gets the newest event by run */
  async #requestsTo(execution: Execution, newest: Map<string, number>): Promise<RunRequest[]> {
    const events = await this.#newEvents(execution, newest);
    const [first] = events;
    const started = first?.workflowExecutionStartedEventAttributes;
    const previous = started?.continuedExecutionRunId;
    const earlier = previous
      ? await this.#requestsTo({ workflowId: execution.workflowId, runId: previous }, newest).catch(
          noneIfGone,
        )
      : [];
    const requests: RunRequest[] = [];
    for (const event of events) requests.push(...(await this.#requestsIn(event)));
    return [...earlier, ...requests];
  }

  async #newEvents(execution: Execution, newest: Map<string, number>): Promise<HistoryEvent[]> {
    const newestFirst: HistoryEvent[] = [];
    let nextPageToken: Uint8Array = new Uint8Array();
    const read = this.#read.get(execution.runId ?? '') ?? 0;
    for (let page = 0; page < maxPages; page++) {
      const answer = await this.#service.getWorkflowExecutionHistoryReverse({
        namespace: this.#namespace,
        execution,
        maximumPageSize: pageSize,
        nextPageToken,
      });
      const events = answer.history?.events ?? [];
      const unread = events.filter(({ eventId }) => Number(eventId) > read);
      newestFirst.push(...unread);
      nextPageToken = answer.nextPageToken;
      if (unread.length < events.length || nextPageToken.length === 0) break;
    }
    if (execution.runId !== undefined && newestFirst.length > 0)
      newest.set(execution.runId, Number(newestFirst[0]!.eventId));
    return newestFirst.reverse();
  }

  /** At most one. */
  async #requestsIn(event: HistoryEvent): Promise<RunRequest[]> {
    const who = await this.#requestIn(event);
    if (who === undefined) return [];
    const { seconds = 0, nanos = 0 } = event.eventTime ?? {};
    const time = new Date(Number(seconds) * 1000 + Math.floor((nanos ?? 0) / 1e6)).toISOString();
    return [{ request: who.request, identity: safeText(who.identity), time, event: Number(event.eventId) }];
  }

  async #requestIn(event: HistoryEvent): Promise<{ request: string; identity: string } | undefined> {
    const started = event.workflowExecutionStartedEventAttributes;
    if (started && !started.continuedExecutionRunId)
      return { request: 'start', identity: await this.#starter(started) };
    const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest;
    const name = update?.input?.name ?? '';
    if (askedUpdates.includes(name)) return { request: name, identity: update?.meta?.identity ?? '' };
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName === stopSignal) return { request: stopSignal, identity: sender(signal) };
    const cancel = event.workflowExecutionCancelRequestedEventAttributes;
    if (cancel) return { request: 'cancel', identity: sender(cancel) };
    const reset = event.workflowTaskFailedEventAttributes;
    if (reset?.newRunId) return { request: 'reset', identity: reset.identity ?? '' };
    return undefined;
  }

  /** Who started the run, or what it is a part of. */
  async #starter({
    identity,
    rootWorkflowExecution,
    parentWorkflowExecution,
  }: NonNullable<HistoryEvent['workflowExecutionStartedEventAttributes']>): Promise<string> {
    const parent = parentWorkflowExecution?.workflowId;
    if (!parent) return identity ?? '';
    const root = rootWorkflowExecution?.workflowId ? rootWorkflowExecution : parentWorkflowExecution;
    const answer = await this.#service.getWorkflowExecutionHistory({
      namespace: this.#namespace,
      execution: root,
      maximumPageSize: 1,
    });
    const first = answer.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
    return `${first?.identity ?? ''}, by ${parent}`;
  }
}

/** A history that Temporal has removed after its retention. */
function noneIfGone(error: unknown): [] {
  if ((error as { code?: unknown } | undefined)?.code !== NOT_FOUND) throw error;
  return [];
}

/** A workflow that asks has no identity. */
const sender = ({
  identity,
  externalWorkflowExecution,
}: {
  identity?: string | null;
  externalWorkflowExecution?: { workflowId?: string | null } | null;
}): string =>
  externalWorkflowExecution?.workflowId
    ? `workflow ${externalWorkflowExecution.workflowId}`
    : (identity ?? '');

/** Anyone who may ask may write any identity. */
const safeText = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '?').slice(0, 200);
