import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { attributesOf, currentLabels, labelsOfWorkflow } from './phase-labels.ts';

/**
 * What every span passes before it is exported. It says which run, epoch, phase and shard it belongs to, and
 * has no text: messages of errors, which may quote addresses, stay in Temporal and in the run's events.
 */
export class LabellingProcessor implements SpanProcessor {
  readonly #next: SpanProcessor;

  constructor(next: SpanProcessor) {
    this.#next = next;
  }

  onStart(span: Span, context: Context): void {
    span.setAttributes(attributesOf(currentLabels()));
    this.#next.onStart(span, context);
  }

  onEnd(span: ReadableSpan): void {
    // Queries are asked each second by whoever watches a run.
    if (span.name.startsWith('HandleQuery:')) return;
    this.#next.onEnd(withoutTexts(span));
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown();
  }
}

function withoutTexts(span: ReadableSpan): ReadableSpan {
  const events = span.events.map(({ attributes, ...event }) => ({
    ...event,
    attributes: { 'exception.type': attributes?.['exception.type'] },
  }));
  return Object.create(span, {
    attributes: { value: attributesOfSpan(span), enumerable: true },
    events: { value: events, enumerable: true },
    status: { value: { code: span.status.code }, enumerable: true },
  }) as ReadableSpan;
}

/** Spans of workflows arrive with all that Temporal knows of the workflow, search attributes included. */
function attributesOfSpan({ attributes }: ReadableSpan): ReadableSpan['attributes'] {
  const { workflowId, workflowType, runId } = attributes;
  if (typeof workflowId !== 'string') return attributes;
  return {
    ...attributesOf(labelsOfWorkflow(workflowId)),
    temporalWorkflowId: workflowId,
    ...(workflowType !== undefined && { temporalWorkflowType: workflowType }),
    ...(runId !== undefined && { run_id: runId }),
  };
}
