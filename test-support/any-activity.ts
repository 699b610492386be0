/** A workflow of whoever can start one in the namespace: it schedules any activity on any queue. */
import { proxyActivities } from '@temporalio/workflow';

export async function anyActivity(taskQueue: string, name: string, ...args: unknown[]): Promise<unknown> {
  const activities = proxyActivities<Record<string, (...input: unknown[]) => Promise<unknown>>>({
    taskQueue,
    startToCloseTimeout: '30 seconds',
    retry: { maximumAttempts: 1 },
  });
  return activities[name]!(...args);
}
