/** Spans that this project makes itself. Without start-tracing.ts, OpenTelemetry's interface does nothing. */
import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Span } from '@opentelemetry/api';
import { errorLabel } from './metrics.ts';

/** Runs something in a span of its own; without tracing it is only run. */
export function traced<Result>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  return trace.getTracer('genenv').startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', errorLabel(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The W3C `traceparent` of the span that is active here; undefined without tracing. */
export function activeTraceParent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}
