import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { toFailure } from '../activities/failures.ts';
import type { Ports } from '../activities/ports.ts';

/** Gives errors their type and retry rule, and notes each further attempt in the run's events. */
export const activityInterceptor =
  (ports: Ports) =>
  ({ info }: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      async execute(input, next) {
        const id = (input.args[0] as { run?: { id?: string } } | undefined)?.run?.id;
        if (info.attempt > 1 && id !== undefined) {
          await ports.runFolder(id).appendEvent({ type: 'attempt', phase: info.activityType, attempt: info.attempt, workflow: info.workflowExecution?.workflowId ?? '' });
        }
        try {
          return await next(input);
        } catch (error) {
          throw toFailure(error);
        }
      },
    },
  });
