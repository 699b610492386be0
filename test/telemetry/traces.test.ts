import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emptyResource } from '@opentelemetry/resources';
import { NoopSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry-v2';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';
import { LiveStack } from '../../test-support/live-stack.ts';
import { OtlpReceiver } from '../../test-support/otlp-receiver.ts';
import type { ReceivedSpan } from '../../test-support/otlp-receiver.ts';
import { TestProcess, until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { defined } from '../infra/repository.ts';
import { workflowSources } from '../../src/worker/workflow-sources.ts';

/** A real run whose worker sends its spans to a collector; an answer is lost once. */
let stack: LiveStack;
let receiver: OtlpReceiver;
let trainer: TestProcess | undefined;
let output: string;
let epochTrace: string;
const spanOf = (name: string, traceId: string): ReceivedSpan => defined(receiver.named(name, traceId)[0]);

beforeAll(async () => {
  stack = await LiveStack.shared();
  await stack.policyReady();
  receiver = await OtlpReceiver.start();
  const exporting = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '200' };
  // Jobs have the environment of the trainer that they are forked from.
  const socket = join(stack.home, 'trainer.sock');
  trainer = new TestProcess(pythonPath(), ['-m', 'genenv_trainer', 'resident', '--socket', socket], {
    env: { ...stack.environment, ...exporting },
    cwd: repository,
    log: join(stack.home, 'trainer.log'),
  });
  await until(() => existsSync(socket), 300_000, 'the trainer');
  const worker = await stack.startWorker({
    fault: 'x:rollOut:1:lost',
    environment: { ...exporting, GENENV_TRAINER_SOCKET: socket },
  });
  const handle = await stack.startRun('traced', tinyExperiment());
  await handle.result();
  await worker.stop();
  ({ output } = worker);
  epochTrace = defined(
    receiver.named('RunWorkflow:epoch').find(({ attributes }) => attributes['genenv.epoch'] === 1),
  ).traceId;
  await until(() => receiver.named('RunWorkflow:experiment').length > 0, 10_000, 'the span of the run');
}, 500_000);
afterAll(async () => {
  await trainer?.stop('SIGTERM', 3_000);
  await receiver[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
}, 60_000);

test('each epoch is a trace of its own, apart from that of the run', () => {
  const epochs = receiver.named('RunWorkflow:epoch');
  expect(epochs.map(({ attributes }) => attributes['genenv.epoch']).sort()).toEqual([1, 2, 3]);
  const runs = receiver.named('RunWorkflow:experiment');
  const traces = new Set([...epochs, ...runs].map(({ traceId }) => traceId));
  expect(traces.size).toBe(4);
  for (const { attributes } of [...epochs, ...runs]) expect(attributes['genenv.run']).toBe('traced');
});

test('an epoch has its phases, and they have their requests', () => {
  const epoch = spanOf('RunWorkflow:epoch', epochTrace);
  for (const phase of ['generateTasks', 'drawTasks', 'computeRewards', 'trainAgent', 'commitEpoch']) {
    const executed = spanOf(`RunActivity:${phase}`, epochTrace);
    // A phase of several shards is scheduled several times.
    const scheduled = receiver
      .named(`StartActivity:${phase}`, epochTrace)
      .find(({ spanId }) => spanId === executed.parentId);
    expect(scheduled?.parentId).toBe(epoch.spanId);
    expect(executed.attributes).toMatchObject({
      'genenv.run': 'traced',
      'genenv.epoch': 1,
      'genenv.phase': phase,
    });
  }
  const shards = receiver.named('RunActivity:generateTasks', epochTrace);
  expect(shards.map(({ attributes }) => attributes['genenv.shard']).sort()).toEqual([0, 1]);
  const requests = receiver.named('model server: complete', epochTrace);
  expect(requests.length).toBeGreaterThan(4);
  for (const { parentId, attributes, seconds } of requests) {
    expect(receiver.named('RunActivity:', epochTrace).map(({ spanId }) => spanId)).toContain(parentId);
    expect(attributes['server.address']).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(attributes['genenv.completion_tokens']).toBeGreaterThan(0);
    expect(seconds).toBeGreaterThan(0);
  }
});

test('training jobs join the trace of their epoch, with a span for each step', () => {
  const [activity] = receiver.named('RunActivity:trainAgent', epochTrace);
  const job = defined(
    receiver.named('training job', epochTrace).find(({ parentId }) => parentId === activity?.spanId),
  );
  expect(job).toMatchObject({
    service: 'genenv-trainer',
    failed: false,
    attributes: { 'genenv.job': 'grpo', 'genenv.exit': 'finished' },
  });
  const steps = receiver.spans.filter(({ parentId }) => parentId === job.spanId);
  expect(steps.map(({ name, attributes }) => [name, attributes['genenv.step']])).toEqual([
    ['optimizer step', 1],
    ['optimizer step', 2],
  ]);
  for (const { seconds } of steps) expect(seconds).toBeLessThanOrEqual(job.seconds);
});

test('an attempt that failed is marked, without the text of its error', () => {
  const attempts = receiver.named('RunActivity:rollOut', epochTrace);
  const failed = attempts.filter(({ failed: isFailed }) => isFailed);
  expect(failed.length).toBeGreaterThan(0);
  expect(attempts.map(({ attributes }) => attributes['genenv.attempt'])).toContain(2);
  for (const { texts } of receiver.spans) expect(texts.join()).not.toContain('the answer was lost');
});

test('no span shows questions of those who watch, nor what Temporal knows of a workflow', () => {
  expect(receiver.named('HandleQuery:')).toEqual([]);
  const names = new Set(receiver.spans.flatMap(({ attributes }) => Object.keys(attributes)));
  for (const name of ['searchAttributes', 'memo', 'taskQueue']) expect(names).not.toContain(name);
});

test('the log is JSON, and says what each line is about', () => {
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ message }) => message)).toContain('worker ready');
  const failure = defined(lines.find(({ message }) => message === 'Activity failed'));
  expect(failure).toMatchObject({
    level: 'WARN',
    run: 'traced',
    epoch: 1,
    phase: 'rollOut',
    attempt: 1,
    error: { message: 'the answer was lost' },
  });
  const failed = receiver.named('RunActivity:rollOut', epochTrace).filter(({ failed: isFailed }) => isFailed);
  expect(failure.trace_id).toBe(epochTrace);
  const span = defined(failed.find(({ spanId }) => spanId === failure.span_id));
  expect([0, 1]).toContain(failure.shard);
  expect(failure.shard).toBe(span.attributes['genenv.shard']);
});

describe('histories replay', () => {
  const traces = [fileURLToPath(new URL('../../src/workflows/epoch-traces.ts', import.meta.url))];
  const plugins = [
    new OpenTelemetryPlugin({ resource: emptyResource(), spanProcessor: new NoopSpanProcessor() }),
  ];
  let plain: WorkflowBundle;
  let traced: WorkflowBundle;
  beforeAll(async () => {
    const logger = new DefaultLogger('WARN');
    plain = await bundleWorkflowCode({ ...workflowSources(), logger });
    traced = await bundleWorkflowCode({ ...workflowSources(traces), logger, plugins });
  });
  const recorded = [
    ['experiment', 'recorded'],
    ['epoch', 'recorded/epoch-0001'],
    ['comparison', 'recorded-comparison'],
    ['evaluation', 'recorded-evaluation'],
    ['nightly', 'recorded-night'],
    ['experiment-cancelled', 'recorded-cancelled'],
    ['epoch-cancelled', 'recorded-cancelled/epoch-0001'],
    ['experiment-away', 'recorded-away'],
  ];

  test.each(recorded)('of the workflow %s, recorded without traces, with them', async (name, id) => {
    const url = new URL(`../workflows/histories/${name}.json`, import.meta.url);
    const history: unknown = JSON.parse(readFileSync(url, 'utf8'));
    await expect(
      Worker.runReplayHistory({ workflowBundle: traced, plugins }, history, id),
    ).resolves.toBeUndefined();
  });

  test.each(['traced', 'traced/epoch-0001'])('of %s, with traces, with and without them', async (id) => {
    const history = await stack.client.workflow.getHandle(id).fetchHistory();
    expect(JSON.stringify(history)).toContain('_tracer-data');
    await expect(
      Worker.runReplayHistory({ workflowBundle: traced, plugins }, history, id),
    ).resolves.toBeUndefined();
    await expect(Worker.runReplayHistory({ workflowBundle: plain }, history, id)).resolves.toBeUndefined();
  });

  test('and what a workflow holds in memory stays small', () => {
    const size = ({ code }: { code: string }): number =>
      code.slice(0, code.indexOf('//# sourceMappingURL')).length;
    expect(size(traced) - size(plain)).toBeLessThan(600_000);
  });
});
