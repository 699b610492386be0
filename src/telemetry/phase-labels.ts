import { AsyncLocalStorage } from 'node:async_hooks';
import { trace } from '@opentelemetry/api';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { runOfWorkflow } from '../formats/epoch-id.ts';
import { isRunId } from '../store/phase-cache.ts';

/** What an activity works on: attributes of spans, and fields of log lines. */
export interface PhaseLabels {
  run?: string;
  epoch?: number;
  phase?: string;
  shard?: number;
  attempt?: number;
}

/** The span that something happened in, as logs name it. */
export interface SpanLabels {
  trace_id?: string;
  span_id?: string;
}

const current = new AsyncLocalStorage<PhaseLabels>();
const failures = new WeakMap<object, PhaseLabels & SpanLabels>();

/** Labels each attempt at an activity: its span, the spans and log lines in it, and what it throws. */
export const labelActivities: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    async execute(input, next) {
      const { activityType, attempt, workflowExecution } = info;
      const activity = { activityType, attempt, workflowId: workflowExecution?.workflowId ?? '' };
      const labels = labelsOfActivity(activity, input.args[0]);
      trace.getActiveSpan()?.setAttributes(attributesOf(labels));
      try {
        return await current.run(labels, () => next(input));
      } catch (error) {
        if (error instanceof Error) failures.set(error, { ...labels, ...spanLabels() });
        throw error;
      }
    },
  },
});

/** Of the activity that is running here; none outside of activities. */
export const currentLabels = (): PhaseLabels => current.getStore() ?? {};

/** Of the attempt that has thrown this error. */
export const labelsOfFailure = (error: unknown): (PhaseLabels & SpanLabels) | undefined =>
  error instanceof Error ? failures.get(error) : undefined;

export function spanLabels(): SpanLabels {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}

export const attributesOf = ({
  run,
  epoch,
  phase,
  shard,
  attempt,
}: PhaseLabels): Record<string, string | number> => ({
  ...(run !== undefined && { 'genenv.run': run }),
  ...(epoch !== undefined && { 'genenv.epoch': epoch }),
  ...(phase !== undefined && { 'genenv.phase': phase }),
  ...(shard !== undefined && { 'genenv.shard': shard }),
  ...(attempt !== undefined && { 'genenv.attempt': attempt }),
});

/**
 * The run and the epoch that the id of a workflow names. Whoever may start workflows chooses their ids: one that
 * names no run has no labels.
 */
export function labelsOfWorkflow(workflowId: string): PhaseLabels {
  const labels: PhaseLabels = runOfWorkflow(workflowId);
  return labels.run !== undefined && isRunId(labels.run) ? labels : {};
}

/** Of an activity, by the fields that inputs have in common, which no schema has seen yet. */
export function labelsOfActivity(
  { activityType, attempt, workflowId }: { activityType: string; attempt: number; workflowId?: string },
  input: unknown,
): PhaseLabels {
  const { run, id, epoch, shard } = (input ?? {}) as Partial<Record<string, unknown>>;
  const name = typeof run === 'object' && run !== null && 'id' in run ? run.id : id;
  return {
    ...(workflowId !== undefined && labelsOfWorkflow(workflowId)),
    ...(typeof name === 'string' && isRunId(name) && { run: name }),
    ...(typeof epoch === 'number' && { epoch }),
    phase: activityType,
    ...(typeof shard === 'number' && { shard }),
    attempt,
  };
}
