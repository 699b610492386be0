import { proxyActivities } from '@temporalio/workflow';
import type { NightlyActivities } from '../activities/index.ts';
import { queues } from './queues.ts';

/** What a night does beside its experiment: seconds of work on files. The heartbeat timeout says how soon a worker that died is noticed. */
export const nightActivities = proxyActivities<NightlyActivities>({
  taskQueue: queues.cpu,
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 100 },
});
