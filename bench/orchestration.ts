import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../src/numerics/arithmetic.ts';
import { createDependencies } from '../src/worker/dependencies.ts';
import { workerSettings } from '../src/worker/settings.ts';
import { queues } from '../src/workflows/activity-proxies.ts';
import { LiveStack } from '../test-support/live-stack.ts';
import { begin, createActivities, plainEpoch } from '../test-support/plain-epochs.ts';

const epochs = 12;

/**
 * Seconds of an epoch of experiments/laptop.json by phase, under Temporal and in a plain loop over the same
 * functions, same seed.
 */
export async function orchestration(): Promise<Record<string, unknown>> {
  const laptop = JSON.parse(
    readFileSync(new URL('../experiments/laptop.json', import.meta.url), 'utf8'),
  ) as Record<string, unknown>;
  const file = { ...laptop, epochs, evaluation: { every: epochs } };
  await using stack = await LiveStack.start();
  const worker = await stack.startWorker();
  const execute = (id: string): Promise<unknown> =>
    stack.client.workflow.execute('experiment', {
      args: [file],
      workflowId: id,
      taskQueue: queues.workflows,
    });
  await execute('first');
  await execute('measured');
  await worker.stop();

  type Line = { epoch: number; time: Record<string, number> };
  const lines = readFileSync(join(stack.home, 'runs', 'measured', 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  // The last epoch evaluates, which the plain loop does not.
  const measured = lines.filter(({ epoch }) => epoch >= 1 && epoch < epochs);
  const phases = Object.fromEntries(
    Object.keys(measured[0]!.time).map((phase) => [
      phase,
      median(measured.map(({ time }) => time[phase] ?? 0))!,
    ]),
  );

  const settings = workerSettings(stack.environment, undefined);
  const dependencies = createDependencies(settings, stack.environment, {
    attempt: () => ({
      signal: new AbortController().signal,
      heartbeat: () => undefined,
      stalled: new AbortController().signal,
      onHeartbeat: () => undefined,
      isWorkerStopping: () => false,
      isSuperseded: () => false,
    }),
    keepAlive: (_, wait) => wait(),
    searchAttributes: false,
    onDamage: () => undefined,
  });
  const activities = createActivities(dependencies);
  const { plan, prepared } = await begin(activities, 'plain', file);
  const plainSeconds: number[] = [];
  let committed = prepared;
  for (let epoch = 1; epoch < epochs; epoch++) {
    const startedAt = performance.now();
    committed = await plainEpoch(activities, plan, committed);
    plainSeconds.push((performance.now() - startedAt) / 1000);
  }
  const fixedSeconds = phases.epoch! - median(plainSeconds)!;
  return {
    phases_seconds: phases,
    temporal_epoch_seconds: phases.epoch,
    plain_epoch_seconds: median(plainSeconds)!,
    fixed_cost_seconds: fixedSeconds,
    target_fixed_cost_seconds: 0.6,
    ratio_for_30_s_epochs: (30 + fixedSeconds) / 30,
    target_ratio_for_30_s_epochs: 1.05,
  };
}
