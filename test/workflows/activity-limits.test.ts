import { expect, test, vi } from 'vitest';

const options = vi.hoisted(() => new Map<string, { taskQueue: string; startToCloseTimeout: string }>());

vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<object>()),
  workflowInfo: () => ({ workflowId: 'run/epoch-0001' }),
  proxyActivities: (limits: { taskQueue: string; startToCloseTimeout: string }) =>
    new Proxy({}, { get: (_, name: string) => () => Promise.resolve(options.set(name, limits)) }),
}));

test('a training job may wait in a queue for weeks; other phases take a day at most', async () => {
  const { proxyPhaseActivities, queues } = await import('../../src/workflows/activity-proxies.ts');
  const activities = proxyPhaseActivities({ heartbeatSeconds: 60, maxPhaseAttempts: 100 });
  for (const name of ['warmUp', 'trainAgent', 'trainEnvironment', 'measureGradients'] as const) {
    await activities[name]({} as never);
    expect(options.get(name)).toMatchObject({
      taskQueue: queues.gpu,
      startToCloseTimeout: '365 days',
      heartbeatTimeout: 60_000,
    });
  }
  for (const name of ['rollOut', 'computeRewards'] as const) {
    await activities[name]({} as never);
    expect(options.get(name)).toMatchObject({ startToCloseTimeout: '1 day', heartbeatTimeout: 60_000 });
  }
});
