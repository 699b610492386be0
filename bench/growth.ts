import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { queues } from '../src/workflows/activity-proxies.ts';
import { exampleExperiment, exampleFile, withFields } from '../test-support/experiments.ts';
import { fakeCredentials, FakeS3 } from '../test-support/fake-s3.ts';
import { InstantStack } from '../test-support/instant-stack.ts';

const sizes = [10_240, 102_400, 1_024_000];
const perTask = 8;
const variations = 4;
const bucketCredentials = {
  AWS_ACCESS_KEY_ID: fakeCredentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: fakeCredentials.secretAccessKey,
};
const limits = { payloadBytes: 64 << 10, historyEvents: 2_000 };

interface Measured {
  rollouts: number;
  peak_megabytes: number;
  milliseconds_per_rollout: number;
  largest_payload_bytes: number;
  history_events: number;
  /** Of a bucket, by method. */
  requests?: Record<string, number>;
}

/**
 * One epoch of a size on a stack of its own: both updates run, with a trainer and a model server in another
 * process that cost nothing.
 * @param bucket that has the runs; by default the disk has them
 */
async function measure(rollouts: number, bucket?: FakeS3): Promise<Measured> {
  const fields = {
    epochs: 1,
    'environment.promptsPerEpoch': rollouts / perTask / variations,
    'environment.variationsPerPrompt': variations,
    'agent.rolloutsPerTask': perTask,
    'durability.shards': 8,
    'durability.heartbeatSeconds': 120,
  };
  const home = mkdtempSync(join(tmpdir(), 'genenv-growth-'));
  if (bucket)
    writeFileSync(
      join(home, 'store.json'),
      JSON.stringify({ type: 's3', bucket: 'runs', prefix: `size-${rollouts}`, endpoint: bucket.endpoint }),
    );
  await using stack = await InstantStack.start(exampleExperiment().world, {
    home,
    ...(bucket && { environment: bucketCredentials }),
  });
  const { workflow } = stack.client;
  const before = { ...bucket?.counts };
  await workflow.execute('experiment', {
    args: [withFields(exampleFile, fields)],
    workflowId: 'growth',
    taskQueue: queues.workflows,
  });
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${stack.worker.child.pid!}/status`, 'utf8'))![1];
  const histories = await Promise.all(
    ['growth', 'growth/epoch-0001'].map((id) => workflow.getHandle(id).fetchHistory()),
  );
  const handle = workflow.getHandle('growth/epoch-0001');
  const { startTime, closeTime } = await handle.describe();
  return {
    rollouts,
    peak_megabytes: Number(peak) / 1024,
    milliseconds_per_rollout: (closeTime!.getTime() - startTime.getTime()) / rollouts,
    largest_payload_bytes: Math.max(...histories.flatMap(payloads)),
    history_events: Math.max(...histories.map(({ events }) => events!.length)),
    ...(bucket && {
      requests: Object.fromEntries(
        Object.entries(bucket.counts).map(([method, count]) => [method, count - (before[method] ?? 0)]),
      ),
    }),
  };
}

/** Sizes of all payloads in a history, wherever they are. */
function payloads(value: unknown): number[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  const own = 'data' in value && value.data instanceof Uint8Array ? [value.data.length] : [];
  return [...own, ...Object.values(value).flatMap(payloads)];
}

/**
 * What grows with the rollouts of an epoch, under Temporal: memory of the worker, time, payloads and history.
 * @throws Error above the limits
 */
export const growth = (): Promise<Record<string, unknown>> => grow();

/** The same with the runs in a bucket, and its requests. It is in memory, in the process of the model server. */
export async function growthInBucket(): Promise<Record<string, unknown>> {
  await using bucket = await FakeS3.start();
  return await grow(bucket);
}

async function grow(bucket?: FakeS3): Promise<Record<string, unknown>> {
  const runs: Measured[] = [];
  for (const size of sizes) {
    runs.push(await measure(size, bucket));
    bucket?.objects.clear();
  }
  const [small, large] = [runs[0]!, runs.at(-1)!];
  const worst = (value: (run: Measured) => number): number => Math.max(...runs.map(value));
  const largest = {
    payloadBytes: worst((run) => run.largest_payload_bytes),
    historyEvents: worst((run) => run.history_events),
  };
  for (const name of ['payloadBytes', 'historyEvents'] as const) {
    if (largest[name] > limits[name])
      throw new Error(`growth: ${name} is ${largest[name]}; at most ${limits[name]}`);
  }
  return {
    runs,
    memory_ratio: large.peak_megabytes / small.peak_megabytes,
    target_memory_ratio: 1.3,
    time_per_rollout_ratio: large.milliseconds_per_rollout / small.milliseconds_per_rollout,
    largest_payload_bytes: largest.payloadBytes,
    history_events: largest.historyEvents,
  };
}
