import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { Counter, Gauge, Histogram } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RunMetrics } from '../../src/telemetry/run-metrics.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { measureDisks } from '../../src/telemetry/disk-metrics.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import { readSamples } from '../../test-support/prometheus-text.ts';
import type { Samples } from '../../test-support/prometheus-text.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { defined, read } from '../infra/repository.ts';

/** A real run, whose worker is scraped while it runs and after it has ended. */
let stack: LiveStack;
let url: string;
let during: Samples;
let after: Samples;
const scrape = async (): Promise<Samples> => readSamples(await (await fetch(url)).text());

beforeAll(async () => {
  stack = await LiveStack.shared();
  await stack.policyReady();
  const worker = await stack.startWorker({ environment: { GENENV_METRICS_PORT: '0' } });
  url = defined(/metrics: (\S+)/.exec(worker.output)?.[1]);
  const handle = await stack.startRun('scraped', tinyExperiment());
  await until(
    () =>
      stack
        .run('scraped')
        .lastMetrics()
        .then((line) => (line?.epoch ?? 0) >= 1),
    300_000,
    'epoch 1',
  );
  // Runs are read at most every ten seconds.
  await until(async () => (during = await scrape()).has('genenv_run_epoch'), 90_000, 'the gauges of the run');
  const update = (name: string) => handle.executeUpdate(name);
  await update('pause');
  await until(async () => (await scrape()).sum('genenv_run_paused') === 1, 60_000, 'the pause');
  await update('resume');
  await handle.result();
  await until(async () => !(after = await scrape()).has('genenv_run_epoch'), 90_000, 'the end of the gauges');
}, 500_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

test('one port has the metrics of Temporal, of the process and of the project', () => {
  for (const name of [
    'temporal_request_total',
    'temporal_worker_task_slots_available',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
    'genenv_model_requests_total',
  ])
    expect(after.has(name), name).toBe(true);
});

test('counts agree with the ledger', () => {
  const entries = stack.entries('scraped');
  const total = (metric: string): number =>
    entries.reduce((sum, { metrics }) => sum + (metrics[metric] ?? 0), 0);
  expect(after.sum('genenv_epochs_committed_total')).toBe(entries.length);
  const sampled = entries.flatMap(({ outputs }) => outputs.traces).reduce((sum, { count }) => sum + count, 0);
  expect(after.sum('genenv_rollouts_total', { purpose: 'training' })).toBe(sampled);
  expect(after.sum('genenv_rollouts_total', { purpose: 'evaluation' })).toBeGreaterThan(0);
  expect(after.sum('genenv_model_tokens_total', { kind: 'completion' })).toBeGreaterThanOrEqual(
    defined(entries.at(-1)).outputs.state.tokens,
  );
  expect(after.sum('genenv_optimizer_steps_total', { kind: 'grpo' })).toBe(total('steps'));
  expect(after.sum('genenv_optimizer_steps_total', { kind: 'rwr' })).toBe(total('env/steps'));
});

test('latency, queue wait and disk are measured', () => {
  expect(after.sum('genenv_model_request_duration_seconds_count', { operation: 'complete' })).toBe(
    after.sum('genenv_model_requests_total', { operation: 'complete' }),
  );
  expect(after.has('genenv_activity_queue_wait_seconds_bucket', { queue: 'genenv-gpu' })).toBe(true);
  expect(
    after.sum('genenv_activity_duration_seconds_count', { activity: 'commitEpoch', outcome: 'ok' }),
  ).toBe(4);
  expect(after.sum('genenv_activities_in_progress')).toBe(0);
  const { blocks, bsize } = statfsSync(join(stack.home, 'store'));
  expect(after.sum('genenv_disk_size_bytes', { folder: 'store' })).toBe(blocks * bsize);
  expect(after.sum('genenv_disk_free_bytes', { folder: 'store' })).toBeGreaterThan(0);
});

test('a run is shown from its files while it runs, and dropped once it has ended', () => {
  const run = { run: 'scraped' };
  const epoch = during.sum('genenv_run_epoch', run);
  const line = defined(stack.entries('scraped').find((entry) => entry.epoch === epoch));
  expect(during.sum('genenv_run_epochs', run)).toBe(3);
  expect(during.sum('genenv_run_paused', run)).toBe(0);
  expect(during.sum('genenv_run_success_rate', run)).toBe(line.metrics['env/success_rate']);
  expect(during.sum('genenv_run_kl', { ...run, policy: 'environment' })).toBe(line.metrics['env/kl']);
  expect(during.sum('genenv_run_kl_cap', { ...run, policy: 'environment' })).toBe(1);
  expect(Date.now() / 1000 - during.sum('genenv_run_last_commit_timestamp_seconds', run)).toBeLessThan(600);
  expect(after.all.filter(({ labels }) => labels.run !== undefined)).toEqual([]);
});

test('docs/telemetry.md has exactly the metrics of this project', () => {
  const metrics = new Metrics();
  measureDisks(metrics.registry, {});
  new RunMetrics(metrics.registry, {
    listRunning: () => Promise.resolve([]),
    runFolder: (id) => stack.run(id),
  });
  const rows = metrics.registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('genenv_'))
    .map((metric) => {
      const { name, help, labelNames } = metric as typeof metric & { labelNames: string[] };
      const labels = labelNames.map((label) => `\`${label}\``).join(', ');
      return ['', `\`${name}\``, typeOf(metric), unitOf(name), labels, help, ''].join(' | ').trim();
    });
  const table = read('docs/telemetry.md').match(/^\| `genenv_(?!policy_server)\w+` \|.*$/gm);
  expect(table?.map((row) => row.replace(/ +/g, ' '))).toEqual(rows.map((row) => row.replace(/ +/g, ' ')));
  // A gauge or a counter without labels is there from the start; with labels, once there is a value.
  const shown = new Set(after.families.map(({ name }) => name));
  for (const { name } of metrics.registry.getMetricsAsArray()) expect(shown, name).toContain(name);
});

test('and exactly those of the policy server', async () => {
  const { families } = readSamples(await (await fetch(stack.policyUrl.replace('/v1', '/metrics'))).text());
  expect(families.length).toBeGreaterThan(5);
  const rows = read('docs/telemetry.md').match(/^\| `genenv_policy_server\w+` \|.*$/gm) ?? [];
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  expect(cells.map(([, name, type, , help]) => ({ name: name?.replaceAll('`', ''), type, help }))).toEqual(
    families,
  );
});

const typeOf = (metric: object): string => {
  if (metric instanceof Counter) return 'counter';
  if (metric instanceof Histogram) return 'histogram';
  return metric instanceof Gauge ? 'gauge' : 'unknown';
};

function unitOf(name: string): string {
  const units: [RegExp, string][] = [
    [/_seconds$/, 'seconds'],
    [/_bytes$/, 'bytes'],
    [/_(ratio|rate)$/, '0 to 1'],
    [/_kl(_cap)?$/, 'nats'],
  ];
  return units.find(([pattern]) => pattern.test(name))?.[1] ?? '';
}
