import { proxyActivities } from '@temporalio/workflow';
import type { NightlyActivities } from '../activities/index.ts';
import { queues } from './queues.ts';

/** What a night does beside its experiment: seconds of work on files. */
export const nightActivities = proxyActivities<NightlyActivities>({
  taskQueue: queues.cpu,
  startToCloseTimeout: '5 minutes',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 100 },
});
