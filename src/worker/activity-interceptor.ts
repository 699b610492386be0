import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { toFailure, toWorkerStopped } from '../activities/failures.ts';
import type { Ports } from '../activities/ports.ts';
import { workerStops } from './attempt.ts';
import { unlessStuck } from './stuck-attempts.ts';

/** Gives errors their type and retry rule, and notes in the run's events each further attempt, and each that its stopping worker interrupted. */
export const activityInterceptor =
  (ports: Ports, stopping: AbortSignal) =>
  (context: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      async execute(input, next) {
        const { activityType: phase, attempt, workflowExecution } = context.info;
        const id = (input.args[0] as { run?: { id?: string } } | undefined)?.run?.id;
        const note = async (type: string): Promise<void> => {
          if (id !== undefined)
            await ports
              .runFolder(id)
              .appendEvent({ type, phase, attempt, workflow: workflowExecution?.workflowId ?? '' });
        };
        try {
          // What the queue gave out as the worker stopped is for another to begin.
          stopping.throwIfAborted();
          if (attempt > 1) await note('attempt');
          return await unlessStuck(context, () => next(input));
        } catch (error) {
          if (!workerStops(context, stopping)) throw toFailure(error);
          await note('worker-stopped').catch(() => undefined);
          throw toWorkerStopped(phase);
        }
      },
    },
  });
