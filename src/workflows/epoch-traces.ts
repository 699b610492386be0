/** Workflow interceptors that a worker adds beside those of OpenTelemetry (src/telemetry/tracing.ts). */
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** Gives each epoch a trace of its own: a run of weeks in one trace could not be shown. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      startChildWorkflowExecution: (input, next) =>
        input.workflowType === 'epoch' ? context.with(ROOT_CONTEXT, () => next(input)) : next(input),
    },
  ],
});
