import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { activitiesByQueue } from '../activities/index.ts';
import { queues } from '../workflows/activity-proxies.ts';
import type { QueueName, WorkerSettings } from './settings.ts';

/** How a worker of each queue is made, as often as need be. */
export async function workerFactory(
  settings: WorkerSettings,
  dependencies: Dependencies,
  common: Pick<WorkerOptions, 'connection' | 'namespace' | 'interceptors'>,
): Promise<(queue: QueueName) => Promise<Worker>> {
  const { version, maxCachedWorkflows, trainingJobs } = settings;
  const shared = {
    // Activities hear of a stop at once (run-worker.ts); what has not let go by then is left to its timeout.
    shutdownForceTime: '50 seconds',
    // Cancellation reaches an activity with a heartbeat: this bounds how long that takes.
    maxHeartbeatThrottleInterval: '2 seconds',
    ...(version
      ? {
          workerDeploymentOptions: {
            version,
            useWorkerVersioning: true,
            defaultVersioningBehavior: 'PINNED',
          },
        }
      : {}),
    ...common,
  } satisfies Partial<WorkerOptions>;
  const workflows = settings.queues.includes('workflows')
    ? {
        workflowBundle: await bundleWorkflowCode({
          workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
          logger: new DefaultLogger('WARN'),
        }),
        maxCachedWorkflows,
        // A task for a worker that is gone, or was made anew, goes to another after this.
        stickyQueueScheduleToStartTimeout: '3 seconds',
      }
    : {};
  const { llm, cpu, gpu } = activitiesByQueue(dependencies);
  const own: Record<QueueName, Partial<WorkerOptions>> = {
    workflows,
    llm: { activities: llm, maxConcurrentActivityTaskExecutions: 16 },
    cpu: { activities: cpu, maxConcurrentActivityTaskExecutions: 4 },
    gpu: { activities: gpu, maxConcurrentActivityTaskExecutions: trainingJobs },
  };
  return (queue) => Worker.create({ ...shared, ...own[queue], taskQueue: queues[queue] });
}
