import { CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Sampling } from '../types/activity-types.ts';
import type { Metrics } from './metrics.ts';
import { errorLabel } from './metrics.ts';

/** Activities whose results count rollouts, and what for. */
const rolloutPurposes: Partial<Record<string, string>> = {
  rollOut: 'training',
  evaluatePolicy: 'evaluation',
};

/** Records each attempt at an activity; it runs outside the interceptor that turns errors into failures. */
export function activityMetrics(metrics: Metrics, stopping: AbortSignal): ActivityInterceptorsFactory {
  return ({ info, cancellationSignal }) => ({
    inbound: {
      async execute(input, next) {
        const { activityType: activity, taskQueue: queue, attempt } = info;
        const began = Date.now();
        const waited = began - info.currentAttemptScheduledTimestampMs;
        metrics.queueWaitSeconds.observe({ queue }, Math.max(0, waited) / 1000);
        if (attempt > 1) metrics.activityRetries.inc({ activity });
        metrics.activitiesUnderWay.inc({ activity });
        const end = (outcome: 'ok' | 'failed' | 'stopped'): void => {
          metrics.activitiesUnderWay.dec({ activity });
          metrics.activitySeconds.observe({ activity, outcome }, (Date.now() - began) / 1000);
        };
        try {
          const result = await next(input);
          end('ok');
          recordResult(metrics, activity, result);
          return result;
        } catch (error) {
          const isStopped =
            error instanceof CancelledFailure || cancellationSignal.aborted || stopping.aborted;
          end(isStopped ? 'stopped' : 'failed');
          if (!isStopped) metrics.activityFailures.inc({ activity, reason: failureLabel(error) });
          throw error;
        }
      },
    },
  });
}

/** A failure for Temporal has the name of the error that caused it as its type. */
const failureLabel = (error: unknown): string =>
  errorLabel(error instanceof Error && error.cause instanceof Error ? error.cause : error);

function recordResult(metrics: Metrics, activity: string, result: unknown): void {
  const purpose = rolloutPurposes[activity];
  if (purpose !== undefined) metrics.rollouts.inc({ purpose }, (result as Sampling).file.count);
  if (activity === 'commitEpoch') metrics.epochs.inc();
}
