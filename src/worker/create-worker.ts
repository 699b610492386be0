import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { activitiesByQueue } from '../activities/index.ts';
import { heartbeatIntervalSeconds } from '../runs/temporal-actions.ts';
import type { WorkerTelemetry } from '../telemetry/worker-telemetry.ts';
import { queues } from '../workflows/activity-proxies.ts';
import type { QueueName, WorkerSettings } from './settings.ts';
import { workflowSources } from './workflow-sources.ts';

/** A function that creates a worker of a queue; it may be called again for the same queue. */
export async function workerFactory(
  settings: WorkerSettings,
  dependencies: Dependencies,
  {
    telemetry: { plugins, workflowInterceptorModules },
    ...common
  }: Pick<WorkerOptions, 'connection' | 'namespace' | 'interceptors' | 'dataConverter'> & {
    telemetry: Pick<WorkerTelemetry, 'plugins' | 'workflowInterceptorModules'>;
  },
): Promise<(queue: QueueName) => Promise<Worker>> {
  const { version, maxCachedWorkflows, trainingJobs } = settings;
  const { failureConverterPath } = common.dataConverter ?? {};
  const shared = {
    // Activities are told at once (run-worker.ts); those that have not ended by then are left to their
    // timeout.
    shutdownForceTime: '50 seconds',
    // Cancellation reaches an activity with its heartbeat: this limits the delay.
    maxHeartbeatThrottleInterval: heartbeatIntervalSeconds * 1000,
    ...(version
      ? {
          workerDeploymentOptions: {
            version,
            useWorkerVersioning: true,
            defaultVersioningBehavior: 'PINNED',
          },
        }
      : {}),
    plugins,
    ...common,
  } satisfies Partial<WorkerOptions>;
  const workflows = settings.queues.includes('workflows')
    ? {
        workflowBundle: await bundleWorkflowCode({
          ...workflowSources(workflowInterceptorModules),
          logger: new DefaultLogger('WARN'),
          plugins,
          ...(failureConverterPath !== undefined && { failureConverterPath }),
        }),
        maxCachedWorkflows,
        // After this a task of a worker that is gone or was replaced goes to another.
        stickyQueueScheduleToStartTimeout: '3 seconds',
      }
    : {};
  const { llm, cpu, gpu } = activitiesByQueue(dependencies);
  const byQueue: Record<QueueName, Partial<WorkerOptions>> = {
    workflows,
    llm: { activities: llm, maxConcurrentActivityTaskExecutions: 16 },
    cpu: { activities: cpu, maxConcurrentActivityTaskExecutions: 4 },
    gpu: { activities: gpu, maxConcurrentActivityTaskExecutions: trainingJobs },
  };
  return (queue) => Worker.create({ ...shared, ...byQueue[queue], taskQueue: queues[queue] });
}
